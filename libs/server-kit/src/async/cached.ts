/** Computes again only when an argument differs from those of the last call. */
export function cachedForArguments<Args extends readonly unknown[], T>(
  compute: (...args: Args) => T,
): (...args: Args) => T {
  let last: { args: Args; outcome: T } | undefined
  return (...args) => {
    if (!last || args.some((arg, index) => arg !== last?.args[index])) last = { args, outcome: compute(...args) }
    return last.outcome
  }
}

/** Shares what a read returned, a promise that rejects included, with all calls that follow within `ms` of its start. */
export function cachedFor<T>(ms: number, read: () => T, now: () => number = () => performance.now()): () => T {
  let last: { at: number; outcome: T } | undefined
  return () => {
    if (!last || now() - last.at >= ms) last = { at: now(), outcome: read() }
    return last.outcome
  }
}
