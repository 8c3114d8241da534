import type { types } from 'mediasoup'

interface Track {
  kind: types.MediaKind
  /** Muted. */
  paused: boolean
}

export interface WantedTracks {
  /** What a file that begins now holds; empty: none begins. */
  kinds: types.MediaKind[]
  /** Whether a file of these kinds that has begun goes on. */
  keep(kinds: readonly types.MediaKind[]): boolean
}

/**
 * What of a stream belongs into its file. A track that is muted when the file begins would find no place in it later: of
 * a picture the size has to be known, of a sound how it is in step. So it gets another file when it is turned on. What
 * is muted later leaves a gap.
 */
export function wantedTracks(
  tracks: readonly Track[],
  { hasAudio, hasVideo }: { hasAudio: boolean; hasVideo: boolean },
): WantedTracks {
  const recorded = tracks.filter(({ kind }) => (kind === 'audio' ? hasAudio : hasVideo))
  const kinds = recorded.filter(({ paused }) => !paused).map(({ kind }) => kind)
  return {
    kinds,
    keep: (begun) => recorded.length > 0 && kinds.every((kind) => begun.includes(kind)),
  }
}
