/** A sample of the progress of a job's program. */
export interface Sample {
  /** Monotonic, ms. */
  at: number
  /** Grows with the output of the program: bytes, lines, frames. */
  output: number
  /** Grows with the media sent to the program. Undefined: output is always due. */
  input?: number | undefined
}

export interface StallLimits {
  /** The longest time without output after the first output, ms. */
  outputMs: number
  /** The longest time until the first output, ms: a program may have to analyse its input first. */
  firstOutputMs: number
  /** The most that one sample adds, ms: a suspension of this process must not count as silence of the program. */
  maxSampleMs: number
}

export const STALL_LIMITS: StallLimits = { outputMs: 5_000, firstOutputMs: 15_000, maxSampleMs: 2_000 }

/** The progress of a program: how long due output has been missing. */
export interface Activity {
  last: Sample
  silentMs: number
}

/** Time without input does not count: a muted track, or Opus between two DTX packets, produces no output. Pure. */
export function observe(before: Activity | undefined, sample: Sample, limits: StallLimits): Activity {
  if (!before || sample.output > before.last.output) return { last: sample, silentMs: 0 }
  const { last, silentMs } = before
  const isDue = sample.input === undefined || sample.input > (last.input ?? 0)
  const elapsedMs = Math.min(Math.max(0, sample.at - last.at), limits.maxSampleMs)
  return { last: sample, silentMs: silentMs + (isDue ? elapsedMs : 0) }
}

export function stateOf({ last, silentMs }: Activity, limits: StallLimits): 'ok' | 'stalled' {
  return silentMs >= (last.output > 0 ? limits.outputMs : limits.firstOutputMs) ? 'stalled' : 'ok'
}
