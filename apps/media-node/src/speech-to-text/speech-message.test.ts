import { expect, it } from '@jest/globals'
import { SpeechToTextMessage } from '@session-service/contract'
import type { SpeechResult } from '@session-service/speech'
import { speechMessage } from './speech-message.js'

const stream = { connectionId: 'con', streamId: 'str', lang: 'en-US' }
const toUtc = (seconds: number): number => 1_000_000 + Math.round(seconds * 1_000)
const message = (result: SpeechResult): SpeechToTextMessage =>
  SpeechToTextMessage.parse(speechMessage(result, stream, toUtc))

it('a sentence has its begin and end in UTC, and words relative to its begin', () => {
  const words = [
    { word: 'open', start: 12.31, end: 12.6, confidence: 0.9 },
    { word: 'it', start: 12.6, end: 12.7 },
  ]
  expect(message({ kind: 'final', text: 'open it', words, start: 12.3, end: 12.75, raw: '{}' })).toEqual({
    ...stream,
    text: 'open it',
    reason: 'recognized',
    raw: '{}',
    timestamp: 1_012_300,
    endTime: 1_012_750,
    words: [
      { word: 'open', start: 0.01, end: 0.3, confidence: 0.9 },
      { word: 'it', start: 0.3, end: 0.4 },
    ],
  })
})

it('a sentence without times of its own has those of its words', () => {
  const words = [{ word: 'open', start: 2, end: 2.5 }]
  expect(message({ kind: 'final', text: 'open', words, raw: '{}' })).toMatchObject({
    timestamp: 1_002_000,
    endTime: 1_002_500,
  })
})

it('an unfinished sentence has its begin alone', () => {
  expect(message({ kind: 'partial', text: 'op', start: 3, raw: '{}' })).toEqual({
    ...stream,
    text: 'op',
    reason: 'recognizing',
    raw: '{}',
    timestamp: 1_003_000,
  })
})
