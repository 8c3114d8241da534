import { calmMs } from './calm-clock.js'

/** Beyond this multiple of its length no calm time budget lasts, however busy the machine is. */
const MOST_EXTENSION = 3

/** A time budget of a test, ms, scaled by TEST_SLOWNESS: `npm test` measures the speed of the machine at its start. */
export const budgetMs = (ms: number): number => ms * Number(process.env.TEST_SLOWNESS ?? 1)

/** A clock that starts at 0 and measures time budgets, ms: the calm clock, at least a third of the monotonic one. */
export function calmStopwatch(): () => number {
  const [startedAt, calmStart] = [performance.now(), calmMs()]
  return () => Math.max(calmMs() - calmStart, (performance.now() - startedAt) / MOST_EXTENSION)
}

/**
 * Calls `task` once the time budget of `ms` is over, scaled and measured as those of `until`.
 * @returns a function that cancels it
 */
export function calmTimeout(task: () => void, ms: number): () => void {
  const [elapsed, limitMs] = [calmStopwatch(), budgetMs(ms)]
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    const leftMs = limitMs - elapsed()
    if (leftMs <= 0) task()
    else timer = setTimeout(wait, Math.ceil(leftMs))
  }
  wait()
  return () => clearTimeout(timer)
}
