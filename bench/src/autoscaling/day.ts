import { Random } from './random.js'

export const STEP_MS = 10_000
export const STEPS = 24 * 360

export interface SimulatedSession {
  /** Number of the step. */
  start: number
  end: number
  /** Percent of a node. */
  load: number
}

/** Percent of one node, at the peak of the day, without bursts. */
const PEAK_LOAD = 1_400
/** Load at night, as a share of the peak. */
const NIGHT_SHARE = 0.1
/** Mean length of a session: half an hour. */
const MEAN_STEPS = 180
const MEAN_LOAD = 2
const BURSTS = 8
/** Sessions of a burst at the peak of the day, as a share of those that run then. */
const BURST_SHARE = 0.12
const BURST_STEPS = 18

/**
 * Generates the sessions of a day from midnight, with two peaks, more starts around the full hour, noise and sudden
 * bursts. `spread` is the standard deviation of the logarithm of the session length.
 */
export function dayOf(seed: number, spread: number): SimulatedSession[] {
  const random = new Random(seed)
  const bursts = Array.from({ length: BURSTS }, () => Math.floor(random.next() * STEPS))
  const sessions: SimulatedSession[] = []
  let drift = 0
  for (let step = 0; step < STEPS; step++) {
    drift = 0.998 * drift + 0.01 * random.normal()
    const calm = (PEAK_LOAD / MEAN_LOAD / MEAN_STEPS) * shareOf(step) * Math.exp(drift)
    const rate = calm * (isTopOfHour(step) ? 2.5 : 0.86) + burstRate(bursts, step)
    for (let count = random.poisson(rate); count > 0; count--) {
      const length = Math.max(3, Math.round(random.logNormal(MEAN_STEPS, spread)))
      sessions.push({ start: step, end: step + length, load: random.logNormal(MEAN_LOAD, 0.7) })
    }
  }
  return sessions
}

/** The load over the day as a share of the peak: a quiet night, peaks before and after noon, a slow evening. */
function shareOf(step: number): number {
  const hour = (step / STEPS) * 24
  const hill = (peak: number, width: number) => Math.exp(-(((hour - peak) / width) ** 2))
  return Math.min(1, NIGHT_SHARE + 0.85 * hill(10.5, 2) + 0.9 * hill(15, 2.4) + 0.35 * hill(20, 2))
}

/** True within 2.5 minutes of the full hour. */
const isTopOfHour = (step: number): boolean => step % 360 < 15 || step % 360 >= 345

const burstRate = (bursts: readonly number[], step: number): number =>
  bursts.some((at) => step >= at && step < at + BURST_STEPS)
    ? (BURST_SHARE * (PEAK_LOAD / MEAN_LOAD) * shareOf(step)) / BURST_STEPS
    : 0
