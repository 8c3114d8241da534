import { budgetMs, calmStopwatch } from './time-budget.js'
import { type Found, poll } from '../processes/poll.js'

const SHORTEST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 100
const DEADLINE_MS = 15_000

/**
 * Before the next attempt of `until`, ms: a twentieth of the time that has passed. Attempts are requests, queries and
 * statistics of a browser, whose CPU time a long wait takes from what it waits for.
 */
export const pauseMs = (elapsedMs: number): number =>
  Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, elapsedMs / 20))

/**
 * Calls `fn` until it returns something other than undefined, null or false, and returns that.
 * Rejects after `deadlineMs`, scaled as every time budget and measured by the calm clock, naming `what` and the error of the
 * last attempt.
 */
export async function until<T>(what: string, fn: () => T | Promise<T>, deadlineMs = DEADLINE_MS): Promise<Found<T>> {
  const limitMs = budgetMs(deadlineMs)
  let failure: unknown
  const attempt = async (): Promise<T | undefined> => {
    failure = undefined
    try {
      return await fn()
    } catch (error) {
      failure = error
      return undefined
    }
  }
  const value = await poll(attempt, { everyMs: pauseMs, timeoutMs: limitMs, elapsed: calmStopwatch() })
  if (value !== undefined) return value
  const reason = failure === undefined ? '' : `: ${messageOf(failure)}`
  throw new Error(`not within ${limitMs} ms: ${what}${reason}`, { cause: failure })
}

/** Without instanceof: an error of another realm (a test, a worker) has another class. */
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
