import type { Probe } from '../control-plane/objects.js'

/** The results of a probe up to now. */
interface ProbeState {
  /** Consecutive results of this kind. */
  successes: number
  failures: number
  /** The judgement by the thresholds; undefined before the first one. */
  passes: boolean | undefined
}

export const newProbeState = (): ProbeState => ({ successes: 0, failures: 0, passes: undefined })

/** Adds a result. A judgement changes when as many results as its threshold were equal. */
export function addResult(
  state: ProbeState,
  isSuccess: boolean,
  thresholds: Pick<Probe, 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  const successes = isSuccess ? state.successes + 1 : 0
  const failures = isSuccess ? 0 : state.failures + 1
  if (successes >= thresholds.successThreshold) return { successes, failures, passes: true }
  if (failures >= thresholds.failureThreshold) return { successes, failures, passes: false }
  return { successes, failures, passes: state.passes }
}
