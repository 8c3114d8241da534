/** Shares the outcome of a read, a failure included, with all calls that follow within `ms` of its start. */
export function cachedFor<T>(
  ms: number,
  read: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let last: { at: number; outcome: Promise<T> } | undefined
  return () => {
    if (!last || now() - last.at >= ms) last = { at: now(), outcome: read() }
    return last.outcome
  }
}
