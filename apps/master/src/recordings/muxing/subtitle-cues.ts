import { DEFAULT_CUE_MS, type SpokenSentence } from '../../speech-to-text/transcript-formats.js'

/** A piece of a media file, recorded without a break. Pieces follow one another in the file. */
export interface Segment {
  /** UTC ms. */
  startedAt: number
  durationMs: number
}

/** A sentence with its times in the file, ms. */
export interface Cue {
  from: number
  to: number
  sentence: SpokenSentence
}

/** The sentences that are spoken at the same time, ms. */
interface Overlap {
  from: number
  to: number
  sentences: SpokenSentence[]
}

/** The position in the file of a point in time: never decreases with time; a gap between segments has no length. */
export function fileTime(segments: readonly Segment[], time: number): number {
  let offset = 0
  let position = 0
  for (const { startedAt, durationMs } of segments) {
    if (time < startedAt) break
    position = offset + Math.min(time - startedAt, durationMs)
    offset += durationMs
  }
  return position
}

/** The cues of the sentences that the file contains, in the order of their begin. */
export function cuesOf(sentences: readonly SpokenSentence[], segments: readonly Segment[]): Cue[] {
  return sentences
    .map((sentence) => ({
      from: Math.round(fileTime(segments, sentence.startTime)),
      to: Math.round(fileTime(segments, sentence.endTime ?? sentence.startTime + DEFAULT_CUE_MS)),
      sentence,
    }))
    .filter(({ from, to }) => from < to)
    .sort((a, b) => a.from - b.from || a.to - b.to)
}

/** Cues that do not overlap, because tracks in MP4 cannot contain cues that do. Input in the order of the begin. */
export function withoutOverlaps(cues: readonly Cue[]): Overlap[] {
  const times = [...new Set(cues.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b)
  const result: Overlap[] = []
  let active: Cue[] = []
  let next = 0
  times.forEach((from, index) => {
    active = active.filter((cue) => cue.to > from)
    for (let cue = cues[next]; cue && cue.from <= from; cue = cues[++next]) active.push(cue)
    const to = times[index + 1]
    if (to !== undefined && active.length > 0) result.push({ from, to, sentences: active.map((cue) => cue.sentence) })
  })
  return result
}
