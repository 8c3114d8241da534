import { expect, it } from '@jest/globals'
import { seededRandom } from './fixtures/random.js'
import { encodeOpus } from './fixtures/opus-encoder.js'
import { makeSound } from './fixtures/voice.js'
import { opusPacketInfo } from './opus-packet.js'

const packet = (configuration: number, code: number, ...rest: number[]): Uint8Array =>
  Uint8Array.of((configuration << 3) | code, ...rest, 1, 2, 3)

it.each([
  ['SILK, 10 ms', packet(0, 0), 480],
  ['SILK, 60 ms', packet(11, 0), 2880],
  ['hybrid, 20 ms', packet(15, 0), 960],
  ['CELT, 2.5 ms', packet(16, 0), 120],
  ['CELT, 20 ms, two frames', packet(31, 1), 1920],
  ['two frames of different size', packet(15, 2), 1920],
  ['five frames', packet(1, 3, 5), 4800],
  ['six frames with padding', packet(1, 3, 0x40 | 6), 5760],
])('a packet of %s has its duration', (_name, payload, samples) => {
  expect(opusPacketInfo(payload)?.samples).toBe(samples)
})

it.each([
  ['empty', Uint8Array.of()],
  ['without frames', packet(1, 3, 0)],
  ['of more than 120 ms', packet(3, 3, 3)],
])('a packet %s is malformed', (_name, payload) => {
  expect(opusPacketInfo(payload)).toBeUndefined()
})

it('a packet with a header only is silence', () => {
  expect(opusPacketInfo(Uint8Array.of(0x78))).toEqual({ samples: 960, isDtx: true, hasVoice: false })
})

it.each([
  ['20 ms', packet(1, 0, 0b1000_0000), true],
  ['20 ms without voice', packet(1, 0, 0b0111_1111), false],
  ['60 ms with voice in the last frame', packet(3, 0, 0b0010_0000), true],
  ['60 ms with redundancy only', packet(3, 0, 0b0001_0000), false],
  ['stereo with voice in the side channel', Uint8Array.of(0x0c, 0b0010_0000, 1, 2), true],
  ['CELT', packet(31, 0, 0xff), undefined],
])('reads the voice activity of %s', (_name, payload, hasVoice) => {
  expect(opusPacketInfo(payload)?.hasVoice).toBe(hasVoice)
})

it('the flags of real packets follow the voice', () => {
  const sound = makeSound(
    [
      { kind: 'silence', ms: 1000 },
      { kind: 'voice', ms: 1000 },
    ],
    seededRandom(1),
  )
  const flags = encodeOpus(sound).map((payload) => opusPacketInfo(payload ?? new Uint8Array())?.hasVoice)
  expect(flags.slice(0, 48)).not.toContain(true)
  expect(flags.slice(52).filter((flag) => flag).length).toBeGreaterThan(8)
})
