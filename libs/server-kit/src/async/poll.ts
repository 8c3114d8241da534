import { sleep } from './sleep.js'

export interface PollOptions {
  /** The pause between two probes, ms. */
  everyMs: number
  /** The time limit, ms; none when left out. */
  timeoutMs?: number
  /** Ends the polling: the call rejects with its reason. */
  signal?: AbortSignal
}

type Found<T> = Exclude<T, undefined | null | false>

/**
 * Calls `probe` until it returns a value other than undefined, null or false, and returns that. Returns undefined when
 * the time limit passes; the last probe comes after it. Rejects with the error of a probe, or when `signal` is aborted.
 */
export async function poll<T>(
  probe: () => T | Promise<T>,
  { everyMs, timeoutMs = Infinity, signal }: PollOptions,
): Promise<Found<T> | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const isLast = performance.now() >= deadline
    const value = await probe()
    if (isFound(value)) return value
    if (isLast) return undefined
    await sleep(Math.min(everyMs, Math.max(0, deadline - performance.now())), signal)
  }
}

const isFound = <T>(value: T): value is Found<T> => value !== undefined && value !== null && value !== false
