import { afterEach, describe, expect, it } from '@jest/globals'
import type { AudioFormat } from './audio-format.js'
import { AudioPipeline } from './audio-pipeline.js'
import { packetize, type SendOptions, type Sent } from './fixtures/publisher.js'
import { seededRandom } from './fixtures/random.js'
import { Recorder } from './fixtures/recorder.js'
import { LEVEL_ID, PAYLOAD_TYPE, rtpPacket } from './fixtures/rtp.js'
import { type Part, makeSound } from './fixtures/voice.js'
import { levelOf } from './voice-gate.js'

const send = (parts: readonly Part[], options: SendOptions = {}): Sent[] =>
  packetize(makeSound(parts, seededRandom(3)), options)

const open: AudioPipeline[] = []
afterEach(() => {
  for (const pipeline of open.splice(0)) pipeline.close()
})

function openPipeline(format: Partial<AudioFormat> = {}): { pipeline: AudioPipeline; recorder: Recorder } {
  const recorder = new Recorder()
  const pipeline = new AudioPipeline({ payloadType: PAYLOAD_TYPE, levelId: LEVEL_ID, ...format }, recorder)
  open.push(pipeline)
  return { pipeline, recorder }
}

/** Runs a pipeline over packets in the order of their arrival, until `until` ms. */
function receive(sent: readonly Sent[], until: number): { pipeline: AudioPipeline; recorder: Recorder } {
  const { pipeline, recorder } = openPipeline()
  const arriving = sent.toSorted((a, b) => a.at - b.at)
  let next = 0
  for (let now = 0; now <= until; now += 100) {
    for (let packet = arriving[next]; packet && packet.at <= now; packet = arriving[++next])
      pipeline.packet(packet.data, packet.at, true)
    pipeline.tick(now, true)
  }
  return { pipeline, recorder }
}

const TALK: Part[] = [
  { kind: 'silence', ms: 2000 },
  { kind: 'voice', ms: 1500 },
  { kind: 'silence', ms: 3000 },
  { kind: 'voice', ms: 1000 },
  { kind: 'silence', ms: 2000 },
]
const TALK_MS = 9500

describe.each([
  ['without DTX', { dtx: false, levels: false }],
  ['with DTX', { dtx: true, levels: false }],
  ['with levels', { dtx: false, levels: true }],
  ['with DTX and levels', { dtx: true, levels: true }],
  ['with DTX and redundancy', { dtx: true, levels: true, fec: true }],
])('a publisher %s', (_name, options) => {
  it('speech arrives at its positions with a pre-roll, and its end is reported once', () => {
    const { recorder, pipeline } = receive(send(TALK, options), TALK_MS)
    const { spans, ends, overlaps } = recorder
    expect(spans).toHaveLength(2)
    expect(ends).toHaveLength(2)
    expect(overlaps).toEqual([])
    for (const [at, [begin, end]] of [
      [0, [2000, 3500]],
      [1, [5500 + 1000, 5500 + 2000]],
    ] as const) {
      expect(spans[at]![0]).toBeGreaterThanOrEqual(begin - 500)
      expect(spans[at]![0]).toBeLessThanOrEqual(begin - 300)
      expect(spans[at]![1]).toBeGreaterThanOrEqual(end)
      expect(spans[at]![1]).toBeLessThanOrEqual(end + 1000)
      expect(Math.abs(ends[at]! / 16 - end)).toBeLessThan(150)
    }
    // The delay of the encoder is 6.5 ms.
    const audio = recorder.audio(TALK_MS)
    expect(levelOf(audio.subarray(0, 1990 * 16))).toBeLessThan(-60)
    expect(levelOf(audio.subarray(2040 * 16, 2200 * 16))).toBeGreaterThan(-32)
    expect(levelOf(audio.subarray(3300 * 16, 3500 * 16))).toBeGreaterThan(-32)
    expect(pipeline.counters).toMatchObject({ lost: 0, late: 0, malformed: 0, foreign: 0, corrupt: 0, utterances: 2 })
  })

  it.each([1, 2, 3, 4, 5])('loss, reordering and duplication move nothing (seed %d)', (seed) => {
    const random = seededRandom(seed)
    const sent = send(TALK, options)
      .filter((_, at) => at === 0 || random() > 0.05)
      .flatMap((packet) => (random() < 0.02 ? [packet, packet] : [packet]))
      .map(({ data, at }, index) => ({ data, at: at + (index === 0 ? 0 : random() ** 4 * 90) }))
    const { recorder, pipeline } = receive(sent, TALK_MS + 200)
    expect(recorder.overlaps).toEqual([])
    const audio = recorder.audio(TALK_MS)
    expect(levelOf(audio.subarray(0, 1980 * 16))).toBeLessThan(-50)
    expect(levelOf(audio.subarray(2100 * 16, 3450 * 16))).toBeGreaterThan(-34)
    expect(levelOf(audio.subarray(4300 * 16, 6400 * 16))).toBeLessThan(-50)
    expect(levelOf(audio.subarray(6600 * 16, 7450 * 16))).toBeGreaterThan(-34)
    expect(pipeline.counters.packets).toBe(sent.length)
  })
})

it('nothing is decoded during silence where the publisher sends levels, and with DTX', () => {
  for (const options of [{ levels: true }, { dtx: true }, { dtx: true, levels: true }]) {
    const { pipeline, recorder } = receive(send([{ kind: 'noise', ms: 10_000, level: -75 }], options), 10_000)
    expect(pipeline.counters.decodedFrames).toBeLessThan(10)
    expect(recorder.frames).toEqual([])
  }
})

it('an utterance ends although no packet arrives any more', () => {
  const { recorder } = receive(send([{ kind: 'voice', ms: 2000 }]), 3100)
  expect(recorder.ends).toHaveLength(1)
  expect(recorder.ends[0]! / 16).toBeGreaterThan(1800)
})

it('an utterance does not end while this process is stalled', () => {
  const sent = send([{ kind: 'voice', ms: 4000 }])
  const { pipeline, recorder } = openPipeline()
  const [early, late] = [sent.filter(({ at }) => at <= 1000), sent.filter(({ at }) => at > 1000)]
  for (const { data, at } of early) pipeline.packet(data, at, true)
  pipeline.tick(4000, false)
  for (const { data } of late) pipeline.packet(data, 4000, false)
  pipeline.tick(4100, true)
  expect(recorder.ends).toEqual([])
  expect(recorder.spans).toHaveLength(1)
  expect(recorder.spans[0]![1]).toBe(4000)
})

it('a publisher that restarts with another source, sequence and timestamp continues in real time', () => {
  const first = send([{ kind: 'voice', ms: 1000 }], { levels: true })
  const second = send([{ kind: 'voice', ms: 1000 }], { levels: true, ssrc: 9, base: 77, firstSequence: 5, from: 5000 })
  const { recorder, pipeline } = receive([...first, ...second], 8000)
  expect(recorder.spans).toHaveLength(2)
  expect(recorder.spans[1]![0]).toBe(5000 + 20 - 400)
  expect(Math.abs(recorder.spans[1]![1] - 6000)).toBeLessThan(100)
  expect(pipeline.counters).toMatchObject({ restarts: 1, lost: 0 })
})

it('drops packets that are not of the stream, and counts them', () => {
  const { pipeline } = openPipeline({ ssrc: 1 })
  for (const data of [
    rtpPacket({ ssrc: 2 }),
    rtpPacket({ payloadType: 13 }),
    rtpPacket({ payload: Buffer.of() }),
    rtpPacket({ payload: Buffer.of(0x0b, 0) }),
    Buffer.from('GET / HTTP/1.1'),
    Buffer.of(0x80, 200, 0, 0),
  ])
    pipeline.packet(data, 0, true)
  expect(pipeline.counters).toMatchObject({ packets: 5, foreign: 2, malformed: 3 })
})

it('corrupt Opus in a valid packet is silence of its length', () => {
  const sent = send([{ kind: 'voice', ms: 2000 }], { levels: true })
  const random = seededRandom(1)
  for (const { data } of sent.filter((_, at) => at % 10 === 5))
    for (let at = 21; at < data.length; at++) data[at] = random() * 256
  // Two frames of which the second one has a negative size.
  sent[60]!.data[20] = 0x7a
  sent[60]!.data[21] = 0xfb
  const { recorder } = receive(sent, 3000)
  expect(recorder.overlaps).toEqual([])
  expect(recorder.spans).toHaveLength(1)
})

it.each([2.5, 10, 40, 60, 120])('packets of %d ms are audio of the same length', (packetMs) => {
  // Code 3 with repeated frames of 2.5 ms of CELT silence.
  const frames = packetMs / 2.5
  const payload =
    frames === 1
      ? Buffer.of(0x80, 0xff, 0xfe, 0)
      : Buffer.concat([Buffer.of(0x83, frames), Buffer.alloc(frames * 3, 0xfe)])
  const sent = Array.from({ length: 2000 / packetMs }, (_, at) => ({
    data: rtpPacket({ sequence: at, timestamp: at * packetMs * 48, payload, level: -20 }),
    at: (at + 1) * packetMs,
  }))
  const { recorder, pipeline } = receive(sent, 4000)
  expect(pipeline.counters.malformed).toBe(0)
  expect(recorder.overlaps).toEqual([])
  expect(recorder.spans.at(-1)![1]).toBeCloseTo(Math.floor(2000 / packetMs) * packetMs)
})

it.each([
  ['an hour of silence with DTX and levels', 60, { dtx: true, levels: true }],
  ['half an hour of silence without DTX, with levels', 30, { levels: true }],
  // Each packet is decoded to measure its level.
  ['10 minutes of silence without levels', 10, {}],
])('%s does not grow anything', (_name, minutes, options) => {
  const minute = send([{ kind: 'noise', ms: 60_000, level: -75 }], options)
  const { pipeline, recorder } = openPipeline()
  let sequence = 0
  const run = (count: number, from: number): void => {
    for (let at = 0; at < count; at++)
      for (const { data, at: ms } of minute) {
        const shift = (from + at) * 60_000
        data.writeUInt16BE(sequence++ & 0xffff, 2)
        data.writeUInt32BE(((shift + ms) * 48) >>> 0, 4)
        pipeline.packet(Buffer.from(data), shift + ms, true)
      }
  }
  run(5, 0)
  const before = process.memoryUsage().heapUsed
  run(minutes, 5)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(60e6)
  expect(recorder.frames).toEqual([])
  expect(pipeline.counters).toMatchObject({ lost: 0, utterances: 0 })
})
