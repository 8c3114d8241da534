import { setTimeout as sleep } from 'node:timers/promises'

interface PollOptions {
  /** The pause between two probes, ms, or how it follows from the time that has passed. */
  everyMs: number | ((elapsedMs: number) => number)
  /** The time limit, ms; none when left out. */
  timeoutMs?: number
  /** The time that has passed, ms; default: of a monotonic clock. */
  elapsed?: () => number
  /** Ends the polling: the call rejects with an AbortError. */
  signal?: AbortSignal
}

export type Found<T> = Exclude<T, undefined | null | false>

/**
 * Calls `probe` until it returns a value other than undefined, null or false, and returns that; undefined when the time
 * limit passes. The last probe begins after the limit: a process that was not scheduled for a while does not miss what
 * has happened meanwhile. server-kit has a similar function for servers; this package must not depend on server-kit.
 */
export async function poll<T>(
  probe: () => T | Promise<T>,
  { everyMs, timeoutMs = Infinity, signal, ...options }: PollOptions,
): Promise<Found<T> | undefined> {
  const startedAt = performance.now()
  const elapsed = options.elapsed ?? ((): number => performance.now() - startedAt)
  const pause = typeof everyMs === 'number' ? () => everyMs : everyMs
  for (;;) {
    const isLast = elapsed() >= timeoutMs
    const value = await probe()
    if (isFound(value)) return value
    if (isLast) return undefined
    await sleep(pause(elapsed()), undefined, signal ? { signal } : {})
  }
}

const isFound = <T>(value: T): value is Found<T> => value !== undefined && value !== null && value !== false
