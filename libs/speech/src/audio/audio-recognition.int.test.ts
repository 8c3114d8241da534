/** The way of speech through Opus, RTP and the gate to a real recognizer. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { SpeechModel, SpeechResult } from '../engines/engine.js'
import { VoskEngine } from '../engines/vosk/vosk-engine.js'
import { SENTENCES as ALL, wordErrorRate } from '../fixtures/sentences.js'
import { testEngine } from '../fixtures/test-engines.js'
import { speakAll, type Spoken, upsample } from '../fixtures/voice.js'
import { Recognition } from '../slot/recognition.js'
import { AudioPipeline } from './audio-pipeline.js'
import { packetize, type SendOptions } from './fixtures/publisher.js'
import { seededRandom } from './fixtures/random.js'
import { LEVEL_ID, PAYLOAD_TYPE } from './fixtures/rtp.js'

const LONG_MS = 300_000
const PAUSE_S = 1.5
/** Some begin with a quiet sound. */
const SENTENCES = ALL.slice(0, 4)
const TICK_MS = 100

const vosk = testEngine('vosk')
let model: SpeechModel
let pcm: Int16Array
let spoken: Spoken[]

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Adds white noise of this level, dBov. */
function withNoise(samples: Int16Array, level: number): Int16Array {
  const random = seededRandom(9)
  const amplitude = 32_768 * 10 ** (level / 20) * Math.sqrt(3)
  return samples.map((sample) => Math.max(-32_768, Math.min(32_767, sample + amplitude * (random() * 2 - 1))))
}

/** The final results, in times of the stream. */
async function recognize(audio: Int16Array, options: SendOptions, loss: number): Promise<SpeechResult[]> {
  const finals: SpeechResult[] = []
  const recognition = new Recognition(await model.open(), {
    result: (result) => result.kind === 'final' && finals.push(result),
    ended: () => finished.resolve(),
  })
  const finished = Promise.withResolvers<void>()
  closing.push(() => recognition.close())
  const pipeline = new AudioPipeline({ payloadType: PAYLOAD_TYPE, levelId: LEVEL_ID }, recognition)
  const random = seededRandom(4)
  let ticked = 0
  for (const { data, at } of packetize(audio, options)) {
    for (; ticked < at; ticked += TICK_MS) pipeline.tick(ticked, true)
    if (at > 100 && random() < loss) continue
    pipeline.packet(data, at, true)
    await recognition.drained()
  }
  pipeline.tick(ticked + 2000, true)
  pipeline.close()
  recognition.ended()
  await finished.promise
  return finals
}

const describeVosk = vosk ? describe : describe.skip

describeVosk('vosk', () => {
  beforeAll(async () => {
    if (vosk?.engine.name !== 'vosk') return
    model = await new VoskEngine(vosk.engine).load(vosk.folder, 'en-US')
    const all = speakAll(SENTENCES, PAUSE_S)
    pcm = upsample(all.samples)
    spoken = all.spoken
  }, LONG_MS)
  afterAll(() => model.close())

  it.each([
    ['with DTX', { dtx: true, levels: true, fec: true }, 0, undefined],
    ['without levels', {}, 0, undefined],
    ['with DTX, redundancy and 5 % loss', { dtx: true, levels: true, fec: true }, 0.05, undefined],
    ['with noise, without levels', {}, 0, -55],
  ])(
    'sentences that are sent %s are recognized once each, at their times',
    async (_name, options, loss, noise) => {
      const finals = await recognize(noise === undefined ? pcm : withNoise(pcm, noise), options, loss)
      const figures = finals.map(({ text, start, end }) => ({ text, start, end }))
      const errors = wordErrorRate(SENTENCES.join(' '), finals.map(({ text }) => text).join(' '))
      expect({ figures, isRecognized: errors <= 0.1 }).toEqual({ figures, isRecognized: true })
      expect(finals).toHaveLength(SENTENCES.length)
      const wrong = finals.filter(
        ({ start = 0, end = 0 }, at) =>
          Math.abs(start - spoken[at]!.start) > 0.3 || Math.abs(end - spoken[at]!.end) > 0.45,
      )
      expect({ figures, spoken, wrong }).toEqual({ figures, spoken, wrong: [] })
    },
    LONG_MS,
  )
})
