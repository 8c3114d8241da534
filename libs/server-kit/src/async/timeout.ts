/** An operation took longer than its time limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** Names the operation in the message of a TimeoutError, or makes an error of the caller's own. */
type OnTimeout = string | ((ms: number) => Error)

/**
 * The outcome of `work`; rejects when it takes longer than `ms`. The work itself goes on, and a later rejection of it is
 * handled. The timer ends with the work.
 */
export async function withTimeout<T>(
  work: PromiseLike<T> | (() => T | PromiseLike<T>),
  ms: number,
  onTimeout: OnTimeout,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(timeoutError(ms, onTimeout)), ms)
  try {
    return await Promise.race([typeof work === 'function' ? work() : work, expired])
  } finally {
    clearTimeout(timer)
  }
}

const timeoutError = (ms: number, onTimeout: OnTimeout): Error =>
  typeof onTimeout === 'function' ? onTimeout(ms) : new TimeoutError(`${onTimeout} did not finish within ${ms} ms`)

/** The outcome of `work`; rejects with the reason of `signal` when that is aborted first. The work itself goes on. */
export async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
