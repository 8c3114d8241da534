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
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}

/** Runs `task` every `ms` until the returned function is called. */
export function every(clock: Clock, ms: number, task: () => void): () => void {
  let cancel = clock.after(ms, function tick() {
    cancel = clock.after(ms, tick)
    task()
  })
  return () => cancel()
}
