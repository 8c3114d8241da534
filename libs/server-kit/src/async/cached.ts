/** Shares what a read returned, a promise that rejects included, with all calls that follow within `ms` of its start. */
export function cachedFor<T>(ms: number, read: () => T, now: () => number = () => performance.now()): () => T {
  let last: { at: number; outcome: T } | undefined
  return () => {
    if (!last || now() - last.at >= ms) last = { at: now(), outcome: read() }
    return last.outcome
  }
}
