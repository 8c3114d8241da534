import { type Clock, every } from '../platform/clock.js'
import { formatDimensions } from './dimensions.js'

/** The video size and frame rate in the protocol's format; null while the browser does not report them. */
export interface VideoMeasure {
  readonly videoDimensions: string | null
  readonly frameRate: number | null
}

export function measure(track: MediaStreamTrack | undefined): VideoMeasure {
  const { width, height, frameRate } = track?.getSettings() ?? {}
  return {
    videoDimensions: width && height ? formatDimensions({ width, height }) : null,
    frameRate: frameRate ? Math.round(frameRate) : null,
  }
}

const WATCH_MS = 1_000

/** Calls `changed` when the measured values of the track change. The returned function stops the polling. */
export function watchMeasure(
  clock: Clock,
  track: () => MediaStreamTrack | undefined,
  first: VideoMeasure,
  changed: (now: VideoMeasure, before: VideoMeasure) => void,
): () => void {
  let last = first
  return every(clock, WATCH_MS, () => {
    const measured = measure(track())
    // An unknown value counts as unchanged.
    const now = {
      videoDimensions: measured.videoDimensions ?? last.videoDimensions,
      frameRate: measured.frameRate ?? last.frameRate,
    }
    if (now.videoDimensions === last.videoDimensions && now.frameRate === last.frameRate) return
    const before = last
    last = now
    changed(now, before)
  })
}
