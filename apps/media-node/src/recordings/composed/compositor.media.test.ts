import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createSocket } from 'node:dgram'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '@session-service/local-stack'
import { rtpPackets } from '../fixtures/rtp-packets.js'
import { Compositor, type CompositorEvent } from './compositor.js'

const PAYLOAD_TYPE = 96
const FRAMES = 50
const FRAME_MS = 40
const KEY_FRAME_EVERY = 20
const LOST = 5

let folder: string
let compositor: Compositor
let events: CompositorEvent[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compositor-'))
  events = []
  compositor = new Compositor(process.env.COMPOSITOR_BIN!, (event) => void events.push(event))
})
afterEach(async () => {
  await compositor.kill()
  await rm(folder, { recursive: true })
})

const ofPicture = (): string[] =>
  events.map(({ event }) => event).filter((event) => ['media', 'broken'].includes(event))

it('reports a picture that stands still because a packet is missing, and the next one that is complete', async () => {
  // One packet for each picture.
  const packets = await rtpPackets({
    words: [
      ...['-f', 'lavfi', '-i', 'color=red:size=64x64:rate=25', '-frames:v', String(FRAMES)],
      ...['-c:v', 'libvpx', '-deadline', 'realtime', '-g', String(KEY_FRAME_EVERY)],
    ],
    payloadType: PAYLOAD_TYPE,
    atLeast: FRAMES,
  })
  compositor.send('start', 128, 72, 25, 1, 0, 100, 96, 200, join(folder, 'composed.mp4'))
  compositor.send('add', 1, 'VP8', PAYLOAD_TYPE, -1)
  const port = await until('it listens', () => events.find((event) => event.event === 'listening')?.video.rtp)
  await using socket = createSocket('udp4')
  for (const [nth, packet] of packets.entries()) {
    if (nth !== LOST) socket.send(packet, port, '127.0.0.1')
    // The pace of the sender, not a wait for a condition.
    await pause(FRAME_MS)
  }
  await until('a picture follows', () => ofPicture().length >= 3)
  expect(ofPicture()).toEqual(['media', 'broken', 'media'])
  await compositor.stop()
})
