import { expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { SAMPLE_RATE, type SpeechResult, type SpeechStream } from '../engines/engine.js'
import { SpeakerStream } from './speaker-stream.js'

/** A model whose recognizers report an utterance at the time of all that they received. */
function model({ failure }: { failure?: Error } = {}) {
  const state = { opened: 0, closed: 0 }
  const open = (): Promise<SpeechStream> => {
    if (failure) return Promise.reject(failure)
    state.opened++
    let written = 0
    const final = (): SpeechResult => {
      const end = written / SAMPLE_RATE
      return { kind: 'final', text: 'word', words: [{ word: 'word', start: 0, end }], start: 0, end, raw: '' }
    }
    return Promise.resolve({
      write: (samples) => {
        written += samples.length
        return Promise.resolve([])
      },
      endUtterance: () => Promise.resolve([final()]),
      close: () => {
        state.closed++
        return Promise.resolve()
      },
    })
  }
  return { state, open }
}

const second = (): Int16Array => new Int16Array(SAMPLE_RATE)

it('a recognizer is opened with the first audio and closed after a silence, and times go on', async () => {
  const { state, open } = model()
  const stream = new SpeakerStream({ open }, 20)
  expect(await stream.endUtterance()).toEqual([])
  expect(state).toEqual({ opened: 0, closed: 0 })
  await stream.write(second())
  expect(await stream.endUtterance()).toMatchObject([{ start: 0, end: 1 }])
  await until('the recognizer is closed', () => state.closed === 1)
  await stream.write(second())
  await stream.write(second())
  const [result] = await stream.endUtterance()
  expect(result).toMatchObject({ start: 1, end: 3, words: [{ start: 1, end: 3 }] })
  expect(state.opened).toBe(2)
  await stream.close()
  expect(state.closed).toBe(2)
})

it('a speaker that goes on in time keeps the recognizer', async () => {
  const { state, open } = model()
  const stream = new SpeakerStream({ open }, 100)
  for (let at = 0; at < 3; at++) {
    await stream.write(second())
    await stream.endUtterance()
  }
  expect(state).toEqual({ opened: 1, closed: 0 })
  await stream.write(second())
  // The silence has to follow the last audio.
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(state.closed).toBe(0)
  await stream.close()
})

it('a recognizer that cannot be opened fails the write, and a closed stream takes no audio', async () => {
  const failing = new SpeakerStream(model({ failure: new Error('no memory') }))
  await expect(failing.write(second())).rejects.toThrow('no memory')
  await failing.close()
  const { state, open } = model()
  const closed = new SpeakerStream({ open })
  await closed.close()
  await expect(closed.write(second())).rejects.toThrow('the stream is closed')
  expect(state.opened).toBe(0)
})
