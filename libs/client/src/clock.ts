/** Time and chance as the library sees them; tests give their own. */
export interface Clock {
  /** Wall-clock ms: it goes on while the computer sleeps, so a socket that slept is noticed. */
  now(): number
  /** Runs `task` once after `ms`; the returned function cancels it. */
  after(ms: number, task: () => void): () => void
  /** Uniform in [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
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
