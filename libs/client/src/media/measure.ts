import { type Clock, every } from '../platform/clock.js'
import { formatDimensions } from './dimensions.js'

/** What is sent, as the wire wants it; null while the browser does not tell. */
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

/** Calls `changed` when what the browser says of the track is another than before. The returned function ends it. */
export function watchMeasure(
  clock: Clock,
  track: () => MediaStreamTrack | undefined,
  first: VideoMeasure,
  changed: (now: VideoMeasure, before: VideoMeasure) => void,
): () => void {
  let last = first
  return every(clock, WATCH_MS, () => {
    const measured = measure(track())
    // What cannot be told just now is as it was.
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
