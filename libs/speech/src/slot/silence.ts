/** How long a process has sent no heartbeat, sampled. */
export interface Silence {
  /** The time of the last sample, monotonic, ms. */
  at: number
  silentMs: number
}

/** One sample adds at most this, ms: a suspension of this process is no silence of the other. */
const LARGEST_SAMPLE_MS = 1_000

/** `heard`: a heartbeat has arrived since the last sample. Pure. */
export const observeSilence = ({ at, silentMs }: Silence, now: number, heard: boolean): Silence => ({
  at: now,
  silentMs: heard ? 0 : silentMs + Math.min(Math.max(0, now - at), LARGEST_SAMPLE_MS),
})
