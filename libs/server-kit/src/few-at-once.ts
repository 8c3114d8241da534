/**
 * Does something for each item, so many at the same time, in their order. One that fails does not keep the others from
 * being done; when all are, the call rejects with the last failure.
 */
export async function fewAtOnce<Item>(
  most: number,
  items: readonly Item[],
  act: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = items.values()
  let failure: { error: unknown } | undefined
  const lane = async (): Promise<void> => {
    // One iterator for all lanes: each takes the next.
    for (const item of waiting) {
      await act(item).catch((error: unknown) => {
        failure = { error }
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane))
  if (failure) throw failure.error
}
