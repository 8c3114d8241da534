import type { MasterConfig } from '@session-service/config'
import type { RecordingEnded } from '@session-service/contract'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import type { TranscriptsService } from '../../speech-to-text/transcripts.service.js'
import type { RecordingRow } from '../repository/recording-row.js'
import { RecordedSentences } from './recorded-sentences.service.js'

const SENTENCE: SpokenSentence = {
  ...{ connectionId: 'con_A', clientData: 'Alice', streamId: 'str_A', lang: 'en-US', text: 'hello' },
  ...{ startTime: 1, endTime: 2 },
}
const row = { uniqueSessionId: 'room_1' } as RecordingRow

const clock = new ClusterClock()
const newSentences = (expectsSentences: boolean, isOn = true): RecordedSentences => {
  const transcripts: Pick<TranscriptsService, 'expectsSentences' | 'spokenBetween'> = {
    expectsSentences: () => Promise.resolve(expectsSentences),
    spokenBetween: () => Promise.resolve([SENTENCE]),
  }
  const config = { SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: isOn } as MasterConfig
  return new RecordedSentences(transcripts as TranscriptsService, clock, config)
}

const partEndedAt = (endedAt: number): RecordingEnded[] => [
  {
    ...{ recordingId: 'room', part: 1 },
    files: [{ name: 'x.mp4', size: 1, hasAudio: true, hasVideo: true, startedAt: endedAt - 1_000, endedAt }],
  },
]

/** The times after which the sentences are given, ms; undefined for those that are not given within ten seconds. */
async function delayOf(sentences: RecordedSentences, parts: RecordingEnded[]): Promise<number | undefined> {
  let isDone = false
  void sentences.of(row, parts, new AbortController().signal).then(() => (isDone = true))
  for (let delay = 0; delay <= 10_000; delay += 1_000) {
    await jest.advanceTimersByTimeAsync(delay === 0 ? 0 : 1_000)
    if (isDone) return delay
  }
  return undefined
}

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

it.each([
  ['at once without a transcript', newSentences(false), 0, 0],
  ['at once when transcripts are off', newSentences(true, false), 0, 0],
  ['five seconds after the end of the media', newSentences(true), 0, 5_000],
  ['within those five seconds if some have passed', newSentences(true), 3_000, 2_000],
  ['at once when the end is long ago', newSentences(true), 60_000, 0],
  ['after five seconds when the clock of the media node is ahead', newSentences(true), -60_000, 5_000],
])('the sentences of a recording are read %s', async (_, sentences, agoMs, delay) => {
  expect(await delayOf(sentences, partEndedAt(clock.now() - agoMs))).toBe(delay)
})

it('no sentences are read for a recording without files', async () => {
  const parts = [{ recordingId: 'room', part: 1, files: [] }]
  expect(await newSentences(true).of(row, parts, new AbortController().signal)).toEqual([])
})

it('a wait for sentences ends when the recording is deleted', async () => {
  const deletion = new AbortController()
  const waiting = newSentences(true).of(row, partEndedAt(clock.now()), deletion.signal)
  deletion.abort(new Error('deleted'))
  await expect(waiting).rejects.toThrow('deleted')
})
