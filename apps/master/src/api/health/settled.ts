/** What comes of it within `ms`; undefined when it fails or takes longer. */
export async function settled<T>(ms: number, work: () => Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  const outcome = async (): Promise<T | undefined> => {
    try {
      return await work()
    } catch {
      return undefined
    }
  }
  try {
    return await Promise.race([outcome(), late])
  } finally {
    clearTimeout(timer)
  }
}
