import { setTimeout as sleep } from 'node:timers/promises'

export interface PollOptions {
  /** The pause between two probes, ms. */
  everyMs: number
  /** The time limit, ms; none when left out. */
  timeoutMs?: number
  /** Ends the polling: the call rejects with an AbortError. */
  signal?: AbortSignal
}

export type Found<T> = Exclude<T, undefined | null | false>

/**
 * Calls `probe` until it returns a value other than undefined, null or false, and returns that; undefined when the time
 * limit passes. server-kit has the same function for servers; this package must not depend on server-kit.
 */
export async function poll<T>(
  probe: () => T | Promise<T>,
  { everyMs, timeoutMs = Infinity, signal }: PollOptions,
): Promise<Found<T> | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await probe()
    if (isFound(value)) return value
    await sleep(everyMs, undefined, signal ? { signal } : {})
    if (performance.now() >= deadline) return undefined
  }
}

const isFound = <T>(value: T): value is Found<T> => value !== undefined && value !== null && value !== false
