/** Signalling time-outs and intervals, ms. */
export const SIGNALLING_TIMEOUTS = {
  open: 10_000,
  request: 10_000,
  probe: 3_000,
  watch: 1_000,
  linger: 2_000,
  /** Only the server decides on evictions, and it does not count its own downtime. The client stops retrying after this. */
  giveUp: 30 * 60_000,
} as const
