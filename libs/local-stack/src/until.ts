import { type Found, poll } from './processes/poll.js'

const INTERVAL_MS = 25
const DEADLINE_MS = 15_000

/** A time budget of a test, ms, scaled by TEST_SLOWNESS: `npm test` measures the speed of the machine at its start. */
export const budgetMs = (ms: number): number => ms * Number(process.env.TEST_SLOWNESS ?? 1)

/**
 * Calls `fn` until it returns something other than undefined, null or false, and returns that.
 * Rejects after `deadlineMs`, scaled as every time budget, naming `what` and the error of the last attempt.
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
  const value = await poll(attempt, { everyMs: INTERVAL_MS, timeoutMs: limitMs })
  if (value !== undefined) return value
  const reason = failure === undefined ? '' : `: ${messageOf(failure)}`
  throw new Error(`not within ${limitMs} ms: ${what}${reason}`, { cause: failure })
}

/** Without instanceof: an error of another realm (a test, a worker) has another class. */
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
