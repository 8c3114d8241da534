import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '@session-service/local-stack'
import { Composer } from '../deferred/composer.js'
import { rtpPackets } from '../fixtures/rtp-packets.js'
import { Compositor, type CompositorEvent } from './compositor.js'
import { probe } from './fixtures/recorded.js'

const PAYLOAD_TYPE = 96
const FRAMES = 50
const FRAME_MS = 40
const KEY_FRAME_EVERY = 20
const LOST = 5
/** AAC frames begin before the first picture and end after the last one. */
const TOLERANCE_S = 0.1

let folder: string
let compositor: Compositor
let composer: Composer | undefined
let events: CompositorEvent[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compositor-'))
  events = []
  composer = undefined
  compositor = new Compositor(process.env.COMPOSITOR_BIN!, (event) => void events.push(event))
})
afterEach(async () => {
  composer?.kill('is left')
  await Promise.all([compositor.kill(), composer?.exited])
  await rm(folder, { recursive: true })
})

const file = (): string => join(folder, 'composed.mp4')
const opening = ({ frameRate = 25, hasAudio = 1, stallMs = 10_000 }): (string | number)[] => [
  ...[128, 72, frameRate, 1, hasAudio, 100, 96, 200, stallMs],
  file(),
]

const ofPicture = (): string[] =>
  events.map(({ event }) => event).filter((event) => ['media', 'broken'].includes(event))

/** One packet for each picture of a red square. */
const squares = (side: number, frames: number): Promise<Buffer[]> =>
  rtpPackets({
    words: [
      ...['-f', 'lavfi', '-i', `color=red:size=${side}x${side}:rate=25`, '-frames:v', String(frames)],
      ...['-c:v', 'libvpx', '-deadline', 'realtime', '-g', String(KEY_FRAME_EVERY)],
    ],
    payloadType: PAYLOAD_TYPE,
    atLeast: frames,
  })

/** Starts a recording of one participant, and sends it the packets in time; undefined ones are lost. */
async function record(packets: readonly (Buffer | undefined)[]): Promise<void> {
  compositor.send('start', ...opening({ hasAudio: 0 }))
  compositor.send('add', 1, 'VP8', PAYLOAD_TYPE, -1)
  compositor.send('place', 1, 0, 0, 128, 72, 1)
  const port = await until('it listens', () => events.find((event) => event.event === 'listening')?.video.rtp)
  await using socket = createSocket('udp4')
  for (const packet of packets) {
    if (packet) socket.send(packet, port, '127.0.0.1')
    // The pace of the sender, not a wait for a condition.
    await pause(FRAME_MS)
  }
}

it('reports a picture that stands still because a packet is missing, and the next one that is complete', async () => {
  const packets = await squares(64, FRAMES)
  await record(packets.map((packet, nth) => (nth === LOST ? undefined : packet)))
  await until('a picture follows', () => ofPicture().length >= 3)
  expect(ofPicture()).toEqual(['media', 'broken', 'media'])
  await compositor.stop()
})

it('continues at once when the pictures of a participant get another size', async () => {
  const sides = [64, 96, 64]
  const packets = (await Promise.all(sides.map((side) => squares(side, KEY_FRAME_EVERY)))).flat()
  for (const [nth, packet] of packets.entries()) {
    packet.writeUInt16BE(nth, 2)
    packet.writeUInt32BE(nth * FRAME_MS * 90, 4)
    packet.writeUInt32BE(1, 8)
  }
  await record(packets)
  const sizes = () => events.flatMap((event) => (event.event === 'size' ? [event.width] : []))
  await until('all sizes are decoded', () => sizes().length >= sides.length)
  await compositor.stop()
  expect(sizes()).toEqual(sides)
  expect(ofPicture()).toEqual(['media'])
  expect(events.filter(({ event }) => event === 'error')).toEqual([])
  const { duration } = await probe(file())
  expect(duration * 1_000).toBeGreaterThan((packets.length - KEY_FRAME_EVERY) * FRAME_MS)
})

it.each([60, 120])('records %d frames a second with sound', async (frameRate) => {
  compositor.send('start', ...opening({ frameRate }))
  const written = async (): Promise<number> => ((await stat(file())).size > 0 ? (await probe(file())).duration : 0)
  await until('two seconds are written', async () => (await written().catch(() => 0)) >= 2)
  await compositor.stop()
  const { streams, duration } = await probe(file())
  expect(streams.map(({ codec }) => codec)).toEqual(['h264', 'aac'])
  expect(Math.abs(duration - streams[0]!.frames / frameRate)).toBeLessThan(TOLERANCE_S)
  expect(streams[0]!.fps).toBeCloseTo(frameRate, 0)
})

/** Begins to compose a log without packets. */
async function composeLog(seconds: number, words: readonly (string | number)[]): Promise<Composer> {
  const log = join(folder, 'packets.log')
  const tick = Buffer.alloc(16)
  tick.writeUInt32LE(0xffff_ffff)
  tick.writeBigInt64LE(BigInt(seconds * 1_000_000), 8)
  await writeFile(log, Buffer.concat([Buffer.from('packets1'), tick]))
  const hooks = { onPicture: () => undefined, onError: () => undefined }
  return (composer = new Composer(process.env.COMPOSITOR_BIN!, [...words, log], file(), hooks))
}

it.each([1, 46, 47, 60, 120])('composes %d frames a second with sound from a log', async (frameRate) => {
  const seconds = 6
  const composing = await composeLog(seconds, opening({ frameRate }))
  await composing.until(Number.MAX_SAFE_INTEGER)
  await composing.finish()
  const { streams, duration } = await probe(file())
  expect(streams).toMatchObject([{ codec: 'h264', frames: seconds * frameRate }, { codec: 'aac' }])
  expect(Math.abs(duration - seconds)).toBeLessThan(TOLERANCE_S)
})

it('ends with an error when its file takes no more data', async () => {
  execFileSync('mkfifo', [file()])
  const reader = await open(file(), 'r+')
  const composing = await composeLog(1_000, opening({ stallMs: 400 }))
  await expect(composing.until(Number.MAX_SAFE_INTEGER)).rejects.toThrow('the composition hangs')
  await reader.close()
})
