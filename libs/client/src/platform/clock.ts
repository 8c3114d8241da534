import { isPageHidden } from './page.js'

/** The library's source of time and randomness; tests replace it. */
export interface Clock {
  /** Monotonic ms, for intervals. It may stand still while the computer sleeps. */
  now(): number
  /** Wall-clock ms. It continues while the computer sleeps, and may be changed at any time. */
  wall(): number
  /** Runs `task` once after `ms`; the returned function cancels it. */
  after(ms: number, task: () => void): () => void
  /** Uniform in [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  // oxlint-disable-next-line clock/no-wall-clock -- only compared with the monotonic clock, to detect a sleep
  wall: () => Date.now(),
  after: (ms, task) => {
    let cancel = (): void => clearTimeout(timer)
    const timer = setTimeout(() => {
      if (isPageHidden()) cancel = afterMessage(task)
      else task()
    }, ms)
    return () => cancel()
  },
  random: () => Math.random(),
}

/**
 * Runs `task` in a message instead of a timer: Chromium runs timers that timers have set once a minute in a hidden page
 * without media, and the server would evict a participant who waits there.
 */
function afterMessage(task: () => void): () => void {
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', () => {
    port1.close()
    task()
  })
  port1.start()
  port2.postMessage(null)
  return () => port1.close()
}

/** Runs `task` every `ms` until the returned function is called. */
export function every(clock: Clock, ms: number, task: () => void): () => void {
  let cancel = clock.after(ms, function tick() {
    cancel = clock.after(ms, tick)
    task()
  })
  return () => cancel()
}
