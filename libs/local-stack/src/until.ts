import { setTimeout as delay } from 'node:timers/promises'

const INTERVAL_MS = 25
const DEADLINE_MS = 15_000

/** A time budget of a test, ms, scaled by TEST_SLOWNESS: the speed of the machine that `npm test` measures at its start. */
export const budgetMs = (ms: number): number => ms * Number(process.env.TEST_SLOWNESS ?? 1)

/**
 * Calls `fn` until it returns something other than undefined, null or false, and returns that.
 * Rejects after `deadlineMs`, scaled as every time budget, naming `what` and the error of the last attempt.
 */
export async function until<T>(
  what: string,
  fn: () => T | Promise<T>,
  deadlineMs = DEADLINE_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const limitMs = budgetMs(deadlineMs)
  const end = performance.now() + limitMs
  let failure: unknown
  do {
    try {
      const value = await fn()
      failure = undefined
      if (isThere(value)) return value
    } catch (error) {
      failure = error
    }
    await delay(INTERVAL_MS)
  } while (performance.now() < end)
  const reason = failure === undefined ? '' : `: ${messageOf(failure)}`
  throw new Error(`not within ${limitMs} ms: ${what}${reason}`, { cause: failure })
}

const isThere = <T>(value: T): value is Exclude<T, undefined | null | false> =>
  value !== undefined && value !== null && value !== false

/** Not by class: an error of another realm (a test's, a worker's) is none of ours. */
const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
