/**
 * Maps the items with at most `limit` calls at the same time, started in the order of the items; the results have that
 * order. A failure does not keep the other items from being mapped: after all of them the call rejects with the first.
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  results.length = items.length
  const failures: unknown[] = []
  const pending = items.entries()
  const lane = async (): Promise<void> => {
    // All lanes share one iterator: each takes the next item.
    for (const [index, item] of pending) {
      try {
        results[index] = await map(item, index)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane))
  if (failures.length > 0) throw failures[0]
  return results
}
