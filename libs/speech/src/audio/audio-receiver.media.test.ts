import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { createWorker, type types } from 'mediasoup'
import { execFile } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { promisify } from 'node:util'
import { AudioReceiver } from './audio-receiver.js'
import { packetize, type SendOptions, type Sent } from './fixtures/publisher.js'
import { seededRandom } from './fixtures/random.js'
import { Recorder } from './fixtures/recorder.js'
import { LEVEL_ID } from './fixtures/rtp.js'
import { levelOf } from './voice-gate.js'

const run = promisify(execFile)
const LEVEL_URI = 'urn:ietf:params:rtp-hdrext:ssrc-audio-level'
const LOOPBACK = { listenInfo: { protocol: 'udp', ip: '127.0.0.1' }, rtcpMux: false } as const
const SILENCE_MS = 1500
const [TO_48, TO_16] = [48, 16]

let worker: types.Worker
let router: types.Router
let speech: Talk

interface Talk {
  pcm: Int16Array
  /** Begin and end of the sentences, ms. */
  sentences: [number, number][]
}

beforeAll(async () => {
  worker = await createWorker({ logLevel: 'warn' })
  router = await worker.createRouter({
    mediaCodecs: [{ kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, channels: 2 }],
  })
  speech = await makeTalk(['can you hear me now', 'start the recording'])
})

afterAll(() => worker.close())

/** Sentences spoken by flite, with silence before and after each. */
async function makeTalk(texts: readonly string[]): Promise<Talk> {
  const spoken = await Promise.all(texts.map(speak))
  const silence = SILENCE_MS * TO_48
  const pcm = new Int16Array(spoken.reduce((sum, { length }) => sum + length + silence, silence))
  const sentences: [number, number][] = []
  let at = silence
  for (const sentence of spoken) {
    pcm.set(sentence, at)
    sentences.push([at / TO_48, (at + sentence.length) / TO_48])
    at += sentence.length + silence
  }
  return { pcm, sentences }
}

async function speak(text: string): Promise<Int16Array> {
  const source = ['-f', 'lavfi', '-i', `flite=text='${text}':voice=rms`]
  const { stdout } = await run('ffmpeg', ['-v', 'error', ...source, ...'-ar 48000 -ac 1 -f s16le -'.split(' ')], {
    encoding: 'buffer',
    maxBuffer: 1e8,
  })
  return new Int16Array(new Uint8Array(stdout).buffer)
}

interface Tapped {
  recorder: Recorder
  receiver: AudioReceiver
  /** Resolves to the position of the first sample, ms, if there were no delay. */
  send: (packets: readonly Sent[]) => Promise<number>
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

/** A producer on a plain transport and a receiver that taps it. */
async function tap(ssrc: number): Promise<Tapped> {
  const from = await router.createPlainTransport({ ...LOOPBACK, comedia: true })
  const producer = await from.produce({
    kind: 'audio',
    rtpParameters: {
      mid: String(ssrc),
      codecs: [{ mimeType: 'audio/opus', payloadType: 100, clockRate: 48_000, channels: 2 }],
      headerExtensions: [{ uri: LEVEL_URI, id: LEVEL_ID }],
      encodings: [{ ssrc }],
    },
  })
  const to = await router.createPlainTransport({ ...LOOPBACK, comedia: false })
  const consumer = await to.consume({ producerId: producer.id, rtpCapabilities: router.rtpCapabilities, paused: true })
  const receiver = new AudioReceiver(formatOf(consumer))
  const recorder = new Recorder()
  const { ip, port } = await receiver.start(recorder)
  await to.connect({ ip, port, rtcpPort: port })
  await consumer.resume()
  const socket = createSocket('udp4')
  closing.push(async () => {
    socket.close()
    await receiver.close()
    from.close()
    to.close()
  })
  const send = async (packets: readonly Sent[]): Promise<number> => {
    const begin = performance.now() - receiver.startedAt
    await sendPaced(socket, from.tuple.localPort, packets)
    return begin
  }
  return { recorder, receiver, send }
}

function formatOf({ rtpParameters }: types.Consumer) {
  const levelId = rtpParameters.headerExtensions?.find(({ uri }) => uri === LEVEL_URI)?.id
  return {
    payloadType: rtpParameters.codecs[0]!.payloadType,
    ssrc: rtpParameters.encodings![0]!.ssrc!,
    ...(levelId !== undefined && { levelId }),
  }
}

/** Sends packets in real time. */
async function sendPaced(socket: Socket, port: number, packets: readonly Sent[]): Promise<void> {
  const startedAt = performance.now()
  for (const { data, at } of packets) {
    const due = startedAt + at - performance.now()
    if (due > 1) await new Promise((resolve) => setTimeout(resolve, due))
    socket.send(data, port, '127.0.0.1')
  }
}

/** The delay of `received` against `sent` (both 8 kHz) that fits best, ms, and how well: 1 is equality. */
function align(sent: Float32Array, received: Float32Array, maxLagMs: number): { lagMs: number; fit: number } {
  let best = { lagMs: 0, fit: -1 }
  const energy = sent.reduce((sum, value) => sum + value * value, 0)
  for (let lag = 0; lag < maxLagMs * 8; lag++) {
    let product = 0
    let power = 0
    for (let at = 0; at < sent.length; at++) {
      const value = received[at + lag] ?? 0
      product += (sent[at] ?? 0) * value
      power += value * value
    }
    const fit = power > 0 ? product / Math.sqrt(energy * power) : 0
    if (fit > best.fit) best = { lagMs: lag / 8, fit }
  }
  return best
}

/** Averages to 8 kHz. */
const to8k = (pcm: Int16Array, ratio: number): Float32Array =>
  Float32Array.from({ length: Math.floor(pcm.length / ratio) }, (_, at) => {
    let sum = 0
    for (let each = 0; each < ratio; each++) sum += pcm[at * ratio + each] ?? 0
    return sum / ratio
  })

const VARIANTS: [string, SendOptions & { loss?: number }, number][] = [
  ['without DTX', {}, 0.85],
  ['with DTX', { dtx: true }, 0.85],
  ['with DTX and levels', { dtx: true, levels: true }, 0.85],
  ['with levels', { levels: true }, 0.85],
  ['with DTX, levels, redundancy and 5 % loss', { dtx: true, levels: true, fec: true, loss: 0.05 }, 0.75],
  ['without DTX and levels, with 5 % loss', { loss: 0.05 }, 0.75],
]

it('speech arrives from mediasoup with its length and position, with and without DTX, levels and loss', async () => {
  const totalMs = speech.pcm.length / TO_48
  const streams = await Promise.all(
    VARIANTS.map(async ([name, options, fit], at) => {
      const random = seededRandom(at)
      const { loss = 0 } = options
      const packets = packetize(speech.pcm, { ...options, ssrc: 1000 + at })
      const arriving = packets.filter((_, index) => index === 0 || random() >= loss)
      return { name, loss, fit, arriving, levels: options.levels === true, ...(await tap(1000 + at)) }
    }),
  )
  const ended = await Promise.all(
    streams.map(async ({ send, ...stream }) => ({ ...stream, from: Math.round(await send(stream.arriving)) })),
  )
  for (const { name, loss, levels, fit, recorder, receiver, from } of ended) {
    const audio = recorder.audio(from + totalMs + 1000)
    const lags = speech.sentences.map(([begin, end]) => {
      const sent = to8k(speech.pcm.subarray(begin * TO_48, end * TO_48), 6)
      return align(sent, to8k(audio.subarray((from + begin) * TO_16, (from + end + 500) * TO_16), 2), 500)
    })
    const counters = receiver.counters!
    const { spans, ends } = recorder
    const figures = { name, lags, spans, ends, counters, from }
    expect({ figures, fits: lags.every((lag) => lag.fit > fit) }).toEqual({ figures, fits: true })
    // Relative to one another the sentences are where they were spoken.
    expect({ figures, isShifted: Math.abs(lags[0]!.lagMs - lags[1]!.lagMs) > 100 }).toEqual({
      figures,
      isShifted: false,
    })
    expect({ figures, overlaps: recorder.overlaps }).toEqual({ figures, overlaps: [] })
    expect(spans).toHaveLength(2)
    expect(ends).toHaveLength(2)
    expect(levelOf(audio.subarray(0, (from + SILENCE_MS - 100) * TO_16))).toBeLessThan(-60)
    expect(counters).toMatchObject({ malformed: 0, foreign: 0, corrupt: 0, utterances: 2 })
    expect(counters.levels).toBe(levels ? counters.packets : 0)
    if (loss > 0) expect(counters.lost).toBeGreaterThan(0)
    // Only pre-roll and hang-over of the silence are decoded.
    const heardFrames = spans.reduce((sum, [begin, end]) => sum + (end - begin) / 20, 0)
    expect(counters.decodedFrames).toBeLessThanOrEqual(heardFrames + 40)
  }
}, 60_000)

it('audio that the publisher sends after a pause continues in real time', async () => {
  const { recorder, receiver, send } = await tap(2000)
  const [begin, end] = speech.sentences[0]!
  const sentence = packetize(speech.pcm.subarray(0, (end + 200) * TO_48), { ssrc: 2000, levels: true })
  const first = await send(sentence)
  // Sequence numbers and timestamps continue, as if no time had passed.
  const next = packetize(speech.pcm.subarray(0, (end + 200) * TO_48), {
    ssrc: 2000,
    levels: true,
    firstSequence: 65_500 + sentence.length,
    base: 4_294_900_000 + sentence.length * 960,
  })
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const second = await send(next)
  const audio = recorder.audio(second + end + 1000)
  const sent = to8k(speech.pcm.subarray(begin * TO_48, end * TO_48), 6)
  const lags = [first, second].map((from) => {
    const at = Math.round(from + begin)
    return align(sent, to8k(audio.subarray(at * TO_16, (at + end - begin + 500) * TO_16), 2), 500)
  })
  const figures = { lags, first, second, spans: recorder.spans, counters: receiver.counters }
  expect({ figures, fits: lags.every(({ fit }) => fit > 0.85) }).toEqual({ figures, fits: true })
  expect({ figures, isShifted: Math.abs(lags[0]!.lagMs - lags[1]!.lagMs) > 250 }).toEqual({ figures, isShifted: false })
}, 60_000)
