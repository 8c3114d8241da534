/** @quiet @light One process sends the camera's pictures and receives them for all viewers, at 4 Mbit/s each. */
import { readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import type { BandwidthLimits } from '@session-service/contract'
import { makeSparseClip, PacketReceiver, RtspServer, until, type ReceivedPacket } from '@session-service/testing'
import { childrenOf } from '../fixtures/processes.js'
import { MediaStack } from '../rooms/fixtures/media-stack.js'
import { newRoom } from '../rooms/fixtures/publisher.js'
import { UNLIMITED } from '../rooms/fixtures/samples.js'
import { unitTypes } from './fixtures/viewer.js'
import { LIVE_LAYER } from './camera-layers.js'
import { IpCamerasService } from './ip-cameras.service.js'

const KEY_FRAME_SECONDS = 6
/** More than the worker takes for available at first, and than the maximum of some viewers. */
const KBPS = 4_000
const SPS = 7
const TICKS_PER_MS = 90
/** In a row. */
const MOST_LOST = 500

let stack: MediaStack
let folder: string
let camera: RtspServer
let roomId: string
let count = 0
const viewers: Viewer[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  const file = await makeSparseClip(folder, { seconds: KEY_FRAME_SECONDS, kbps: KBPS })
  camera = await RtspServer.start({ clips: { main: { file, kinds: ['video'] } } })
}, 60_000)
afterAll(async () => {
  await camera?.stop()
  await rm(folder, { recursive: true })
})

async function startCamera(options: Parameters<typeof MediaStack.start>[0]): Promise<void> {
  stack = await MediaStack.start(options)
  const cameras = new IpCamerasService(loadNodeConfig({ MEDIA_NODE_ID: 'node' }), stack.service, {
    send: async () => ({ dropRoomIds: [] }),
  })
  roomId = newRoom()
  const source = { networkCache: 0, adaptativeBitrate: true, onlyPlayWithSubscribers: false }
  await cameras.startCamera({
    roomId,
    connectionId: 'cam',
    sessionId: 'session',
    epoch: 1,
    videoCodec: 'VP8',
    allowTranscoding: false,
    streamId: 'str',
    record: true,
    serverData: '',
    source: { ...source, uri: camera.url('main'), allowedAddresses: ['127.0.0.0/8'] },
  })
}

async function stopCamera(): Promise<void> {
  await stack.service.rooms.closeAll()
  await stack.stop()
}

const isKey = ({ payload }: ReceivedPacket): boolean => unitTypes(payload).includes(SPS)
/** Timestamps wrap. */
const after = (later: number, earlier: number): number => (later - earlier) | 0

/** A client in the room that receives the camera. */
class Viewer {
  /** @param capacityKbps of its network; it loses no packet */
  static async join(limits: Partial<BandwidthLimits> = {}, capacityKbps?: number): Promise<Viewer> {
    const connectionId = `viewer${count++}`
    const joined = await stack.join(roomId, connectionId, { limits: { ...UNLIMITED, ...limits } })
    const rtpCapabilities = joined.routerRtpCapabilities
    const receiver = await PacketReceiver.open(joined.recvTransport, rtpCapabilities, capacityKbps)
    const { tracks } = await stack.service.subscribe({ roomId, connectionId, streamId: 'str', rtpCapabilities })
    const viewer = new Viewer(connectionId, receiver, tracks[0]?.rtpParameters.encodings[0]?.ssrc ?? 0)
    viewers.push(viewer)
    const { dtlsParameters } = receiver
    await stack.service.connectTransport({ roomId, connectionId, direction: 'recv', dtlsParameters })
    await receiver.connect()
    return viewer
  }

  readonly #keys = new Set<number>()
  #looked = 0

  private constructor(
    readonly connectionId: string,
    readonly receiver: PacketReceiver,
    private readonly ssrc: number,
  ) {}

  get packets(): readonly ReceivedPacket[] {
    return this.receiver.of(this.ssrc)
  }

  /** The timestamps of the key frames, which may repeat their parameter sets. Looks at each packet once. */
  get keys(): readonly number[] {
    const keys = this.packets.slice(this.#looked).filter(isKey)
    this.#looked = this.packets.length
    for (const { timestamp } of keys) this.#keys.add(timestamp)
    return [...this.#keys]
  }

  /** Whether the camera is piped to its router. */
  get isFar(): boolean {
    const { room, roomRouter } = stack.peer(roomId, this.connectionId)
    return roomRouter.router !== room.stream('str').track('video')?.router
  }

  get last(): number {
    return this.packets.at(-1)?.timestamp ?? NaN
  }

  /** Waits until its pictures are those of the other one. */
  async isLikeLive(live: Viewer): Promise<void> {
    await until('it has caught up', () => Math.abs(after(this.last, live.last)) < 150 * TICKS_PER_MS)
  }

  async nextKey(): Promise<void> {
    const known = this.keys.length
    await until('the next key frame', () => this.keys.length > known, 30_000)
  }

  async isBetweenKeys(): Promise<void> {
    await until(
      'a third of the distance has passed, and little more',
      () => {
        const passed = after(this.last, this.keys.at(-1) ?? NaN) / (KEY_FRAME_SECONDS * 1_000 * TICKS_PER_MS)
        return passed > 1 / 3 && passed < 0.4
      },
      30_000,
    )
  }

  async leave(): Promise<void> {
    viewers.splice(viewers.indexOf(this), 1)
    this.receiver.close()
    await stack.service.leave({ roomId, connectionId: this.connectionId })
  }
}

async function leaveAll(kept?: Viewer): Promise<void> {
  for (const viewer of viewers.filter((each) => each !== kept)) await viewer.leave()
}

/** A viewer of the live pictures, some time after a key frame. */
async function betweenKeyFrames(): Promise<Viewer> {
  const live = await Viewer.join()
  await until('the camera plays', () => live.packets.length > 0, 30_000)
  await live.nextKey()
  await live.isBetweenKeys()
  return live
}

/** No step back; the machine may lose packets. */
function expectSteady(packets: readonly ReceivedPacket[]): void {
  const distances = packets.slice(1).map(({ sequence }, at) => (sequence - packets[at]!.sequence) & 0xffff)
  expect(distances.filter((distance) => distance === 0 || distance > MOST_LOST)).toEqual([])
  const backwards = packets.flatMap(({ sequence, timestamp }, at) => {
    const step = at > 0 ? after(timestamp, packets[at - 1]!.timestamp) : 0
    return step < 0 ? [{ sequence, step, at, of: packets.length }] : []
  })
  expect(backwards).toEqual([])
}

/** A pipe between workers sends lost packets again, later than those that follow them. */
function inOrder(packets: readonly ReceivedPacket[]): ReceivedPacket[] {
  const since = ({ sequence }: ReceivedPacket): number => (sequence - (packets[0]?.sequence ?? 0)) & 0xffff
  const late = packets.filter((packet, at) => at > 0 && since(packet) < since(packets[at - 1]!))
  expect(late.length).toBeLessThan(packets.length / 100)
  return packets.toSorted((one, other) => since(one) - since(other))
}

describe('a viewer of a camera with rare key frames', () => {
  let live: Viewer
  beforeAll(async () => {
    await startCamera({ size: 1 })
    live = await betweenKeyFrames()
  })
  beforeEach(() => live.isBetweenKeys())
  afterEach(() => leaveAll(live))
  afterAll(async () => {
    await leaveAll()
    await stopCamera()
  })

  it.each([
    ['without a maximum', {}],
    ['with a maximum below the bitrate of the camera', { maxRecvKbps: 1_000 }],
  ])(
    '%s has a picture before the next key frame, and the live ones without a gap',
    async (_, limits) => {
      const known = live.keys.length
      const viewer = await Viewer.join(limits)
      await until('it has a picture', () => viewer.keys.length > 0)
      await viewer.isLikeLive(live)
      expect(live.keys).toHaveLength(known)
      await live.nextKey()
      await until('it has the next key frame, too', () => viewer.keys.length > 1)
      await viewer.isLikeLive(live)
      expectSteady(viewer.packets)
      const consumer = stack.peer(roomId, viewer.connectionId).subscription('str').consumers[0]
      await until('it receives the live layer', () => consumer?.currentLayers?.spatialLayer === LIVE_LAYER)
      const { length } = viewer.packets
      await until('the live layer goes on', () => viewer.packets.length > length + 500)
    },
    90_000,
  )

  it('receives the camera while its bandwidth is estimated below the bitrate', async () => {
    const viewer = await Viewer.join({}, KBPS / 4)
    await until('it has a picture', () => viewer.keys.length > 0)
    await live.nextKey()
    const peer = stack.peer(roomId, viewer.connectionId)
    const { subscriptions } = peer
    const consumer = subscriptions.get('str')?.consumers[0]
    await until('it receives the live layer', () => consumer?.currentLayers?.spatialLayer === LIVE_LAYER)
    await until('the estimate is low', async () => {
      const [stats] = await peer.transport('recv').transport.getStats()
      return (stats?.availableOutgoingBitrate ?? Infinity) < (KBPS * 1_000) / 2 || undefined
    })
    const key = live.last
    await until('it has a second of live pictures', () => after(viewer.last, key) > 1_000 * TICKS_PER_MS)
    expect(consumer?.currentLayers?.spatialLayer).toBe(LIVE_LAYER)
  }, 90_000)

  it('has a picture again when it resumes the video, and selects no layer', async () => {
    const viewer = await Viewer.join()
    await until('it has a picture', () => viewer.keys.length > 0)
    const change = { roomId, connectionId: viewer.connectionId, streamId: 'str' }
    const resume = async (): Promise<boolean> => {
      await stack.service.changeSubscription({ ...change, video: false, preferredLayers: { spatialLayer: 0 } })
      const [known, had] = [live.keys.length, viewer.keys.length]
      await stack.service.changeSubscription({ ...change, video: true })
      await until('it has another picture', () => viewer.keys.length > had)
      await viewer.isLikeLive(live)
      return live.keys.length === known
    }
    // On a slow machine the camera may send a key frame meanwhile.
    await until('it resumes between two key frames', resume, 60_000)
    expect(stack.events.map(({ event }) => event.kind)).not.toContain('layersChanged')
  }, 90_000)

  it('goes on after the program that reads the camera was killed, as do later ones', async () => {
    const isReader = (pid: number): boolean => readlinkSync(`/proc/${pid}/exe`) === process.env.CAMERA_BIN
    const reader = childrenOf(process.pid).find(isReader)
    process.kill(reader!, 'SIGKILL')
    await live.nextKey()
    const joinBetween = async (): Promise<Viewer[]> => {
      await leaveAll(live)
      const later = await betweenKeyFrames()
      const known = later.keys.length
      const viewer = await Viewer.join()
      await until('it has a picture', () => viewer.keys.length > 0)
      await viewer.isLikeLive(live)
      expect(later.keys).toHaveLength(known)
      return [later, viewer]
    }
    // On a slow machine the camera may send a key frame meanwhile.
    const joined = await until('later viewers join and have a picture between two key frames', joinBetween, 60_000)
    for (const each of [live, ...joined]) expectSteady(each.packets)
  }, 120_000)
})

describe('viewers on two workers', () => {
  beforeAll(() => startCamera({ size: 2, consumersPerRouter: 3 }))
  afterEach(() => leaveAll())
  afterAll(stopCamera)

  it('have a picture before the next key frame, also where the camera is not, and then the live ones without a gap', async () => {
    let live: Viewer
    let joined: Viewer[] = []
    const joinBetween = async (): Promise<boolean> => {
      await leaveAll()
      live = await betweenKeyFrames()
      joined = await Promise.all(Array.from({ length: 4 }, () => Viewer.join()))
      const known = live.keys.length
      expect(stack.service.rooms.get(roomId).routers).toHaveLength(2)
      expect(new Set(joined.map(({ isFar }) => isFar))).toEqual(new Set([true, false]))
      await until('all have a picture', () => joined.every((viewer) => viewer.keys.length > 0))
      for (const viewer of joined) await viewer.isLikeLive(live)
      return live.keys.length === known
    }
    // On a slow machine the camera may send a key frame meanwhile.
    await until('they join and have a picture between two key frames', joinBetween, 60_000)
    await live!.nextKey()
    await until('all have the next key frame', () => joined.every((viewer) => viewer.keys.length > 1))
    for (const viewer of joined) {
      await viewer.isLikeLive(live!)
      expectSteady(viewer.isFar ? inOrder(viewer.packets) : viewer.packets)
      const consumer = stack.peer(roomId, viewer.connectionId).subscription('str').consumers[0]
      await until('it receives the live layer', () => consumer?.currentLayers?.spatialLayer === LIVE_LAYER, 30_000)
    }
    // Lanes of which the other worker has seen packets before.
    await leaveAll()
    await until('they join once more between two key frames', joinBetween, 60_000)
  }, 150_000)
})
