import { expect, it } from '@jest/globals'
import { parseFinal, parsePartial } from './vosk-results.js'

it('a final result has its words with times and confidences, and spans them', () => {
  const raw = JSON.stringify({
    result: [
      { conf: 0.9, start: 0.5, end: 0.8, word: 'start' },
      { conf: 1, start: 0.8, end: 1.4, word: 'recording' },
    ],
    text: 'start recording',
  })
  expect(parseFinal(raw)).toEqual({
    kind: 'final',
    text: 'start recording',
    words: [
      { word: 'start', start: 0.5, end: 0.8, confidence: 0.9 },
      { word: 'recording', start: 0.8, end: 1.4, confidence: 1 },
    ],
    start: 0.5,
    end: 1.4,
    raw,
  })
})

it('a final result without words has no times', () => {
  expect(parseFinal('{"text":""}')).toEqual({ kind: 'final', text: '', raw: '{"text":""}' })
})

it('a partial result is its text', () => {
  expect(parsePartial('{"partial":"start the"}')).toEqual({
    kind: 'partial',
    text: 'start the',
    raw: '{"partial":"start the"}',
  })
})

it.each(['', '{}', '[]', '{"text":1}'])('a result of another form is refused: %j', (raw) => {
  expect(() => parseFinal(raw)).toThrow()
  expect(() => parsePartial(raw)).toThrow()
})
