import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import { makeCameraClip, RtspServer, until } from '@session-service/testing'
import { IpCamerasService } from '../ip-cameras/ip-cameras.service.js'
import { newRoom } from '../rooms/fixtures/publisher.js'
import type { Room } from '../rooms/room.js'
import type { PlainSubscriber } from '../transcoding/fixtures/plain-subscriber.js'
import { decode } from '../media-processor/fixtures/decode.js'
import { timestampOf } from '../media-processor/fixtures/rtp-sink.js'
import { programs, receives, TranscodingTestbed } from '../transcoding/fixtures/testbed.js'
import { AdaptiveBitrateService } from './adaptive-bitrate.service.js'

const FULL = [960, 540]
const SMALL = [640, 360]
/** Below the bitrate of the camera. */
const LIMIT_KBPS = 300
const ALL = ['VP8', 'H264']

let testbed: TranscodingTestbed
let folder: string
let camera: RtspServer
let cameras: IpCamerasService
let adaptive: AdaptiveBitrateService
let now = 0

beforeAll(async () => {
  testbed = await TranscodingTestbed.start()
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  const picture = 'testsrc2=size=960x540:rate=15'
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac', picture })
  camera = await RtspServer.start({ clips: { main: { file, kinds: ['video', 'audio'] } } })
  const reports = { send: async () => ({ dropRoomIds: [] }) }
  cameras = new IpCamerasService(loadNodeConfig({ MEDIA_NODE_ID: 'node' }), testbed.stack.service, reports)
  adaptive = new AdaptiveBitrateService(testbed.stack.service, () => now)
  testbed.stack.service.qualityControl = adaptive
})
afterEach(async () => {
  testbed.transcoding.cores = 64
  await testbed.reset()
  testbed.stack.events.length = 0
})
afterAll(async () => {
  await camera?.stop()
  await testbed.stop()
  await rm(folder, { recursive: true })
})

async function start(adaptativeBitrate = true): Promise<Room> {
  const roomId = newRoom()
  await cameras.startCamera({
    ...{ roomId, connectionId: 'cam', sessionId: 'session', epoch: 1, streamId: 'str', record: true, serverData: '' },
    ...{ videoCodec: 'VP8', allowTranscoding: !adaptativeBitrate },
    source: {
      uri: camera.url('main'),
      networkCache: 0,
      adaptativeBitrate,
      onlyPlayWithSubscribers: false,
      allowedAddresses: ['127.0.0.0/8'],
    },
  })
  return testbed.stack.service.rooms.get(roomId)
}

/** One measurement, a second after the last one. */
async function measure(): Promise<void> {
  now += 1_000
  await adaptive.measure()
}

/** Measures for longer than the bitrate of the camera is unknown, while it sends. */
async function measuredBitrate(subscriber: PlainSubscriber): Promise<void> {
  await receives(subscriber)
  const from = performance.now()
  await until('the bitrate is known', async () => {
    await measure()
    return performance.now() - from > 3_000
  })
}

const replacements = ({ options }: PlainSubscriber): number =>
  testbed.stack.events.filter(
    ({ event }) => event.kind === 'subscriptionReplaced' && event.to.includes(options.connectionId),
  ).length

/** Measures until the client has to subscribe again, which it does. */
async function replaced(subscriber: PlainSubscriber): Promise<void> {
  const before = replacements(subscriber)
  await until('other media is due for the subscriber', async () => {
    await measure()
    return replacements(subscriber) > before
  })
  await subscriber.subscribe(true)
}

/** The size of a key frame that arrives from now on. Packets may be lost on a busy machine. */
async function sizeFor(subscriber: PlainSubscriber): Promise<number[]> {
  subscriber.packets.length = 0
  const picture = await until(
    'a key frame arrives',
    async () => {
      const key = subscriber.pictures.slice(0, -1).findLast(({ isKey }) => isKey)
      if (!key) {
        await subscriber.video?.requestKeyFrame()
        return undefined
      }
      const packets = subscriber.packets.filter((packet) => timestampOf(packet) === key.timestamp)
      const pictures = await decode(subscriber.codec, packets).catch(() => [])
      return pictures[0]
    },
    20_000,
  )
  return [picture.width, picture.height]
}

it('subscribers whose limit is below the bitrate of a camera share one small video, and others get the original', async () => {
  const room = await start()
  const free = await testbed.subscribe({ room }, ALL)
  const limited = await testbed.subscribe({ room }, ALL, LIMIT_KBPS)
  expect(await sizeFor(limited)).toEqual(FULL)
  await replaced(limited)
  expect([await sizeFor(limited), limited.codec, limited.kinds]).toEqual([SMALL, 'H264', ['audio', 'video']])
  const next = await testbed.subscribe({ room }, ALL, LIMIT_KBPS)
  expect(await sizeFor(next)).toEqual(SMALL)
  expect([testbed.count, programs().length, room.units.transcodings]).toEqual([1, 1, 1])
  expect(await sizeFor(free)).toEqual(FULL)
  expect([free, next].map(replacements)).toEqual([0, 0])
  await limited.unsubscribe()
  await receives(next)
  await next.unsubscribe()
  await until('the small video is not encoded any more', () => testbed.count === 0 && programs().length === 0)
  await receives(free)
})

it('a subscriber with a lossy network gets the small video, and the original again after the losses', async () => {
  const room = await start()
  const lossy = await testbed.subscribe({ room }, ALL)
  const other = await testbed.subscribe({ room }, ALL)
  await receives(lossy)
  lossy.lossRate = 0.3
  await replaced(lossy)
  lossy.lossRate = 0
  expect(await sizeFor(lossy)).toEqual(SMALL)
  expect(testbed.count).toBe(1)
  await replaced(lossy)
  expect(await sizeFor(lossy)).toEqual(FULL)
  await until('the small video is not encoded any more', () => testbed.count === 0 && programs().length === 0)
  expect(replacements(other)).toBe(0)
})

it('a node without capacity for the small video sends the original', async () => {
  const busy = await testbed.publish({ videoCodec: 'VP8', allowTranscoding: true })
  await testbed.subscribe(busy, ['H264'])
  const room = await start()
  const limited = await testbed.subscribe({ room }, ALL, LIMIT_KBPS)
  testbed.transcoding.cores = 0
  await measuredBitrate(limited)
  expect(replacements(limited)).toBe(0)
  testbed.transcoding.cores = 64
  await until('the small video is due', async () => {
    await measure()
    return replacements(limited) > 0
  })
  testbed.transcoding.cores = 0
  await limited.subscribe(true)
  expect(await sizeFor(limited)).toEqual(FULL)
  expect([testbed.count, replacements(limited)]).toEqual([1, 1])
  testbed.transcoding.cores = 64
  await replaced(limited)
  expect(await sizeFor(limited)).toEqual(SMALL)
})

it('when the small video fails again and again, its subscribers get the original for a minute', async () => {
  const { MEDIA_PROCESSOR_BIN } = process.env
  const room = await start()
  const limited = await testbed.subscribe({ room }, ALL, LIMIT_KBPS)
  await receives(limited)
  process.env.MEDIA_PROCESSOR_BIN = 'false'
  try {
    await replaced(limited)
    await until('the original is due again', () => replacements(limited) === 2)
    await limited.subscribe(true)
    expect(await sizeFor(limited)).toEqual(FULL)
    await until('the small video is not encoded any more', () => testbed.count === 0)
  } finally {
    process.env.MEDIA_PROCESSOR_BIN = MEDIA_PROCESSOR_BIN
  }
  const failedAt = now
  await replaced(limited)
  expect(now - failedAt).toBeGreaterThanOrEqual(60_000)
  expect(await sizeFor(limited)).toEqual(SMALL)
})

it('with adaptativeBitrate false nothing is encoded for any subscriber', async () => {
  const room = await start(false)
  const limited = await testbed.subscribe({ room }, ALL, LIMIT_KBPS)
  const other = await testbed.subscribe({ room }, ['VP8'], LIMIT_KBPS)
  expect(other.kinds).toEqual(['audio'])
  await receives(limited)
  limited.lossRate = 0.3
  await measuredBitrate(limited)
  expect(limited.codec).toBe('H264')
  expect([testbed.count, programs(), replacements(limited)]).toEqual([0, [], 0])
})
