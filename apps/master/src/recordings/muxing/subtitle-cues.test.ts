import { describe, expect, it } from '@jest/globals'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import { cuesOf, fileTime, withoutOverlaps } from './subtitle-cues.js'

const START = 1_790_000_000_000

/** Two segments of 10 s and 5 s with a gap of 20 s, and one that its clock dates before the end of the second one. */
const SEGMENTS = [
  { startedAt: START, durationMs: 10_000 },
  { startedAt: START + 30_000, durationMs: 5_000 },
  { startedAt: START + 34_000, durationMs: 8_000 },
]

const said = (text: string, startS: number, endS: number | null = startS + 1): SpokenSentence => ({
  ...{ connectionId: 'con_A', clientData: 'Alice', streamId: 'str_A', lang: 'en-US', text },
  startTime: START + startS * 1_000,
  endTime: endS === null ? null : START + endS * 1_000,
})

describe('the position in a file', () => {
  it.each([
    ['before its begin', -5, 0],
    ['at its begin', 0, 0],
    ['within the first segment', 4.2, 4.2],
    ['at the end of the first segment', 10, 10],
    ['in the gap', 20, 10],
    ['at the begin of the second segment', 30, 10],
    ['within the second segment', 32.5, 12.5],
    ['at the begin of a segment that overlaps the second one', 34, 15],
    ['within the last segment', 41, 22],
    ['after its end', 100, 23],
  ])('of a time %s', (_, second, expected) => {
    expect(fileTime(SEGMENTS, START + second * 1_000)).toBeCloseTo(expected * 1_000, 6)
  })

  it('never decreases with time', () => {
    const positions = Array.from({ length: 500 }, (_, tenth) => fileTime(SEGMENTS, START - 2_000 + tenth * 100))
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  })

  it('is zero in a file without segments', () => expect(fileTime([], START)).toBe(0))
})

describe('the cues of a file', () => {
  const times = (...sentences: SpokenSentence[]): [string, number, number][] =>
    cuesOf(sentences, SEGMENTS).map(({ from, to, sentence }) => [sentence.text, from, to])

  it.each([
    ['has its times in the file', said('x', 1.25, 2.5), [1_250, 2_500]],
    ['is cut at the begin of the recording', said('x', -2, 1), [0, 1_000]],
    ['is cut at the end of the recording', said('x', 41, 60), [22_000, 23_000]],
    ['is cut at a gap', said('x', 9, 20), [9_000, 10_000]],
    ['begins with the segment after a gap', said('x', 20, 31), [10_000, 11_000]],
    ['continues after a gap', said('x', 9, 31), [9_000, 11_000]],
    ['lasts three seconds without a known end', said('x', 2, null), [2_000, 5_000]],
  ])('a sentence %s', (_, sentence, [from, to]) => {
    expect(times(sentence)).toEqual([['x', from, to]])
  })

  it.each([
    ['before the recording', said('x', -2, -1)],
    ['after the recording', said('x', 50)],
    ['in a gap', said('x', 15, 25)],
    ['without a duration', said('x', 3, 3)],
  ])('contain no sentence %s', (_, sentence) => expect(times(sentence)).toEqual([]))

  it('are in the order of their begin', () => {
    expect(times(said('b', 31), said('c', 3), said('a', 3, 3.5)).map(([text]) => text)).toEqual(['a', 'c', 'b'])
  })
})

describe('cues without overlaps', () => {
  const flat = (...spoken: SpokenSentence[]): [number, number, string][] =>
    withoutOverlaps(cuesOf(spoken, [{ startedAt: START, durationMs: 60_000 }])).map(({ from, to, sentences }) => [
      from / 1_000,
      to / 1_000,
      sentences.map(({ text }) => text).join('+'),
    ])

  it.each([
    ['stay as they are', [said('a', 1, 2), said('b', 3, 4)], ['1-2 a', '3-4 b']],
    ['touch without a gap', [said('a', 1, 2), said('b', 2, 4)], ['1-2 a', '2-4 b']],
    ['show both speakers while both speak', [said('a', 1, 3), said('b', 2, 4)], ['1-2 a', '2-3 a+b', '3-4 b']],
    ['show an interjection within a sentence', [said('a', 1, 4), said('b', 2, 3)], ['1-2 a', '2-3 a+b', '3-4 a']],
    ['have one cue for the same time', [said('a', 1, 2), said('b', 1, 2)], ['1-2 a+b']],
    ['are none without sentences', [], []],
  ])('%s', (_, sentences, expected) => {
    expect(flat(...sentences).map(([from, to, text]) => `${from}-${to} ${text}`)).toEqual(expected)
  })
})
