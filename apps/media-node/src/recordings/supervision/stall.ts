/** One look at a program that works for a job. */
export interface Look {
  /** By a monotonic clock, ms. */
  at: number
  /** Grows with what the program writes: bytes, lines, frames. */
  output: number
  /** Grows with the media that is sent to the program. Undefined: output is due at all times. */
  input?: number | undefined
}

export interface StallLimits {
  /** How long a program may work without output once it has written something, ms. */
  outputMs: number
  /** The same until its first output: a program may have to analyse its input first. */
  firstOutputMs: number
  /** One look counts for no longer than this, ms: a process that was suspended itself must not blame the program. */
  longestLookMs: number
}

export const STALL_LIMITS: StallLimits = { outputMs: 5_000, firstOutputMs: 15_000, longestLookMs: 2_000 }

/** How a program does: for how long output has been due that did not come. */
export interface Activity {
  last: Look
  silentMs: number
}

/** Time without media does not count: a muted track, or Opus between two DTX packets, owes no output. Pure. */
export function observe(before: Activity | undefined, look: Look, limits: StallLimits): Activity {
  if (!before || look.output > before.last.output) return { last: look, silentMs: 0 }
  const { last, silentMs } = before
  const isDue = look.input === undefined || look.input > (last.input ?? 0)
  const elapsedMs = Math.min(Math.max(0, look.at - last.at), limits.longestLookMs)
  return { last: look, silentMs: silentMs + (isDue ? elapsedMs : 0) }
}

export function stateOf({ last, silentMs }: Activity, limits: StallLimits): 'ok' | 'stalled' {
  return silentMs >= (last.output > 0 ? limits.outputMs : limits.firstOutputMs) ? 'stalled' : 'ok'
}
