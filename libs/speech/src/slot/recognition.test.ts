import { expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { SAMPLE_RATE, type SpeechResult, type SpeechStream } from '../engines/engine.js'
import { Recognition } from './recognition.js'

const FRAME = 0.02 * SAMPLE_RATE
const samples = (count = FRAME): Int16Array => new Int16Array(count)

/** A recognizer that counts: its final result names the samples of the utterance and lies at their time. */
class Counter implements SpeechStream {
  readonly calls: (number | 'end')[] = []
  /** Resolves each call; undefined: at once. */
  gate: Promise<void> | undefined
  failure: Error | undefined
  isClosed = false
  #written = 0
  #begin = 0

  async write(part: Int16Array): Promise<SpeechResult[]> {
    this.calls.push(part.length)
    await this.gate
    if (this.failure) throw this.failure
    this.#written += part.length
    return [{ kind: 'partial', text: String(this.#written), raw: '' }]
  }

  async endUtterance(): Promise<SpeechResult[]> {
    this.calls.push('end')
    await this.gate
    const [start, end] = [this.#begin / SAMPLE_RATE, this.#written / SAMPLE_RATE]
    this.#begin = this.#written
    const words = [{ word: 'all', start, end }]
    return [{ kind: 'final', text: `${end - start} s`, words, start, end, raw: '' }]
  }

  close(): Promise<void> {
    this.isClosed = true
    return Promise.resolve()
  }
}

function recognition() {
  const stream = new Counter()
  const finals: (SpeechResult & { utterance: number })[] = []
  const partials: SpeechResult[] = []
  const ends: (string | undefined)[] = []
  const tested = new Recognition(stream, {
    result: (result, utterance) => {
      if (result.kind === 'final') finals.push({ ...result, utterance })
      else partials.push(result)
    },
    ended: (error) => ends.push(error?.message),
  })
  /** Speaks for some seconds from a second on. */
  const speak = (from: number, seconds: number): void => {
    for (let at = 0; at < seconds * SAMPLE_RATE; at += FRAME) tested.frame(from * SAMPLE_RATE + at, samples())
  }
  return { stream, finals, partials, ends, tested, speak }
}

it('collects short frames to larger calls, and gives results the time of the stream', async () => {
  const { stream, finals, ends, tested, speak } = recognition()
  speak(5, 1)
  tested.utteranceEnd()
  speak(20, 0.5)
  tested.ended()
  await until('it has ended', () => ends.length > 0)
  expect(finals.map(({ utterance, start, end, words }) => [utterance, start, end, words?.[0]?.end])).toEqual([
    [0, 5, 6, 6],
    [1, 20, 20.5, 20.5],
  ])
  expect(ends).toEqual([undefined])
  expect(stream.isClosed).toBe(true)
  const parts = stream.calls.filter((call) => call !== 'end')
  expect(parts.reduce((sum, part) => sum + part, 0)).toBe(1.5 * SAMPLE_RATE)
  expect(parts.length).toBeLessThan(10)
})

it('drops audio instead of growing when the recognizer is too slow, and stays in time', async () => {
  const { stream, finals, ends, tested, speak } = recognition()
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.gate = promise
  speak(0, 60)
  expect(tested.droppedSeconds).toBeGreaterThan(45)
  resolve()
  await tested.drained()
  tested.utteranceEnd()
  speak(100, 1)
  tested.ended()
  await until('it has ended', () => ends.length > 0)
  expect(finals.at(-1)).toMatchObject({ start: 100, end: 101 })
})

it('drops the oldest audio that waits, and ends the utterance before the gap', async () => {
  const { stream, finals, ends, tested, speak } = recognition()
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.gate = promise
  speak(0, 30)
  tested.ended()
  resolve()
  await until('it has ended', () => ends.length > 0)
  const [first, last] = [finals[0]!, finals.at(-1)!]
  expect(finals).toHaveLength(2)
  // The audio that the recognizer held when it became slow, and the newest audio.
  expect(first.start).toBe(0)
  expect(first.end).toBeLessThan(1)
  expect(last.end).toBeCloseTo(30)
  expect(last.end! - last.start!).toBeGreaterThan(4.5)
  expect(last.end! - last.start!).toBeLessThanOrEqual(10)
  const recognized = finals.reduce((sum, { start = 0, end = 0 }) => sum + end - start, 0)
  expect(recognized + tested.droppedSeconds).toBeCloseTo(30)
})

it('gives partial results the begin of their utterance', async () => {
  const { partials, ends, tested, speak } = recognition()
  speak(5, 1)
  tested.utteranceEnd()
  speak(20, 1)
  tested.ended()
  await until('it has ended', () => ends.length > 0)
  expect([...new Set(partials.map(({ start }) => start))]).toEqual([5, 20])
})

it('reports a recognizer that fails, and closes it', async () => {
  const { stream, ends, speak } = recognition()
  stream.failure = new Error('the engine failed')
  speak(0, 1)
  await until('it has ended', () => ends.length > 0)
  expect(ends).toEqual(['the engine failed'])
  expect(stream.isClosed).toBe(true)
})

it('passes on that the audio broke off, after its results', async () => {
  const { finals, ends, tested, speak } = recognition()
  speak(0, 0.1)
  tested.ended(new Error('no audio'))
  tested.frame(SAMPLE_RATE, samples())
  await until('it has ended', () => ends.length > 0)
  expect(ends).toEqual(['no audio'])
  expect(finals).toHaveLength(1)
})

it('gives no result after it was closed', async () => {
  const { stream, finals, ends, tested, speak } = recognition()
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.gate = promise
  speak(0, 1)
  tested.utteranceEnd()
  await tested.close()
  resolve()
  await new Promise(setImmediate)
  expect([finals, ends]).toEqual([[], []])
})
