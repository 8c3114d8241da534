/** The outcome of `work`. @throws Error that names `step` when it takes longer than `ms`; the work itself goes on */
export async function withDeadline<T>(step: string, ms: number, work: () => T | Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${step} did not finish within ${ms} ms`)), ms)
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}
