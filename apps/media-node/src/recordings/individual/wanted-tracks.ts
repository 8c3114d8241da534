import type { types } from 'mediasoup'

interface Track {
  kind: types.MediaKind
  /** Muted. */
  paused: boolean
}

interface WantedTracks {
  /** The kinds of a file that begins now; empty: none begins. */
  kinds: types.MediaKind[]
  /** Whether any track belongs into a file, also while it is muted. */
  isAny: boolean
  /** Whether an open file of these kinds continues. */
  keep(kinds: readonly types.MediaKind[]): boolean
}

/**
 * The tracks of a stream that belong into its file. A track that is muted when the file begins cannot be added later:
 * the header needs the picture size and the timing of the audio. Unmuting it therefore begins another file. A track
 * that is muted later leaves a gap.
 */
export function wantedTracks(
  tracks: readonly Track[],
  { hasAudio, hasVideo }: { hasAudio: boolean; hasVideo: boolean },
): WantedTracks {
  const recorded = tracks.filter(({ kind }) => (kind === 'audio' ? hasAudio : hasVideo))
  const kinds = recorded.filter(({ paused }) => !paused).map(({ kind }) => kind)
  return {
    kinds,
    isAny: recorded.length > 0,
    keep: (begun) => recorded.length > 0 && kinds.every((kind) => begun.includes(kind)),
  }
}
