import { readlinkSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { ServiceError, type CameraChange, type NodeCommandCall, type NodeFact } from '@session-service/contract'
import { loadNodeConfig } from '@session-service/config'
import { makeCameraClip, RtspServer, until } from '@session-service/testing'
import { childrenOf, isRunning } from '../fixtures/processes.js'
import { individualRecorder } from '../recordings/individual/fixtures/individual-recorder.js'
import { MediaStack } from '../rooms/fixtures/media-stack.js'
import { newRoom } from '../rooms/fixtures/publisher.js'
import type { Stream } from '../rooms/stream.js'
import { StreamViewer } from './fixtures/stream-viewer.js'
import { IpCamerasService } from './ip-cameras.service.js'

const PASSWORD = 'geheim'
const IDLE_MS = 500
const TIMEOUT_MS = 2_000

let stack: MediaStack
let folder: string
let file: string
let camera: RtspServer
let cameras: IpCamerasService
const changes: CameraChange[] = []
const viewers: StreamViewer[] = []

beforeAll(async () => {
  stack = await MediaStack.start({ size: 1 })
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  file = await makeCameraClip(folder, { video: 'h264', audio: 'aac' })
  const encoded = await makeCameraClip(folder, { video: 'mjpeg' })
  const clips = { main: { file, kinds: ['video', 'audio'] }, encoded: { file: encoded, kinds: ['video'] } } as const
  camera = await RtspServer.start({ clips })
  cameras = service()
  cameras.idleMs = IDLE_MS
})
afterEach(async () => {
  for (const viewer of viewers.splice(0)) viewer.close()
  await stack.service.rooms.closeAll()
  camera.fault = undefined
  camera.rewrite = (packet) => packet
  await until('every program that read a camera has ended', () => programs().length === 0)
  await until('the camera has no viewer', () => camera.viewers === 0)
  changes.length = 0
})
afterAll(async () => {
  await camera?.stop()
  await stack.stop()
  await rm(folder, { recursive: true })
})

function service(environment: Record<string, string> = {}): IpCamerasService {
  const config = loadNodeConfig({ MEDIA_NODE_ID: 'node', ...environment })
  const reports = {
    send: async (fact: Pick<NodeFact, 'kind'> & { camera?: CameraChange }) => {
      if (fact.camera) changes.push(fact.camera)
      return { dropRoomIds: [] }
    },
  }
  return new IpCamerasService(config, stack.service, reports)
}

function executableOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return undefined
  }
}

const programs = (): number[] => {
  return childrenOf(process.pid).filter((pid) => isRunning(pid) && executableOf(pid) === process.env.CAMERA_BIN)
}

function call(
  options: Partial<NodeCommandCall<'startCamera'>> & {
    uri?: string
    always?: boolean
    adaptativeBitrate?: boolean
  } = {},
) {
  const { uri = camera.url('main'), always = true, adaptativeBitrate = true, ...others } = options
  const source = {
    uri,
    networkCache: 0,
    adaptativeBitrate,
    onlyPlayWithSubscribers: !always,
    allowedAddresses: ['127.0.0.0/8'],
  }
  return {
    roomId: newRoom(),
    connectionId: 'cam',
    sessionId: 'session',
    epoch: 1,
    videoCodec: 'VP8' as const,
    allowTranscoding: false,
    streamId: 'str_IPC_abcd_cam',
    record: true,
    serverData: '',
    source,
    ...others,
  }
}

const statuses = (): string[] => changes.map(({ status }) => status)
const streamOf = ({ roomId, streamId }: { roomId: string; streamId: string }): Stream =>
  stack.service.rooms.get(roomId).stream(streamId)

async function view(started: { roomId: string; streamId: string }): Promise<StreamViewer> {
  const viewer = await StreamViewer.open(streamOf(started))
  viewers.push(viewer)
  return viewer
}

const receives = (viewer: StreamViewer, more = 10): Promise<unknown> => {
  const { audio, video } = viewer.packets
  const [audioBefore, videoBefore] = [audio.length, video.length]
  return until(
    'audio and video of the camera arrive',
    () => audio.length >= audioBefore + more && video.length >= videoBefore + more,
    20_000,
  )
}

describe('a camera on the network', () => {
  it('publishes its audio and video in a VP8 session', async () => {
    const started = call()
    expect(await cameras.startCamera(started)).toEqual({ hasAudio: true, hasVideo: true })
    await receives(await view(started))
    expect(statuses()).toEqual(['playing'])
    const [room] = (await stack.service.inventory({})).rooms
    expect(room).toMatchObject({ connectionIds: ['cam'], streamIds: [started.streamId] })
    expect(stack.service.counts).toMatchObject({ cameras: 1, connections: 1, streams: 1 })
    await stack.service.leave(started)
    expect(stack.service.counts).toEqual({
      cameras: 0,
      transcodings: 0,
      videoFilters: 0,
      audioFilters: 0,
      connections: 0,
      transports: 0,
      streams: 0,
      consumers: 0,
    })
  })

  it('is asked for key frames of a video that is encoded', async () => {
    const started = call({ uri: camera.url('encoded') })
    await cameras.startCamera(started)
    const producer = streamOf(started).track('video')!.producer
    const requests: string[] = []
    producer.on('trace', ({ type }) => requests.push(type))
    await producer.enableTraceEvent(['pli'])
    const viewer = await view(started)
    await until('a key frame is requested', () => requests.length > 0)
    await until('pictures arrive', () => viewer.packets.video.length > 0)
  })

  it('begins with the filter of the call', async () => {
    const begun: unknown[] = []
    stack.service.filters = {
      begin: (stream, { type }) => begun.push([stream.id, type]),
      inputReplaced: () => undefined,
    }
    const filter = { filterId: 'filter', type: 'BlurFilter', options: {} }
    const started = call({ filter })
    await cameras.startCamera(started)
    expect(begun).toEqual([[started.streamId, 'BlurFilter']])
    stack.service.filters = undefined
  })

  it('is read only while it has receivers, if asked to', async () => {
    const started = call({ always: false })
    await cameras.startCamera(started)
    await until('it is not read without receivers', () => statuses().at(-1) === 'idle' && camera.viewers === 0)
    const first = await view(started)
    await receives(first)
    expect(statuses().at(-1)).toBe('playing')
    first.close()
    viewers.length = 0
    await until('it rests again', () => statuses().at(-1) === 'idle' && camera.viewers === 0)
  })

  it('is read while a recording of each stream wants it, and is in a file of it', async () => {
    const started = call({ always: false })
    await cameras.startCamera(started)
    const becomes = (status: string): Promise<unknown> => until(`it is ${status}`, () => statuses().at(-1) === status)
    await becomes('idle')
    const room = stack.service.rooms.get(started.roomId)
    const own = await mkdtemp(join(folder, 'part-'))
    const recorder = individualRecorder({ room, folder: own, onEnded: () => undefined })
    await recorder.start()
    await becomes('playing')
    await until('its file has media', async () => {
      const names = (await readdir(own)).filter((name) => name.endsWith('.mkv'))
      return (await Promise.all(names.map((name) => stat(join(own, name))))).some(({ size }) => size > 0)
    })
    room.participant(started.connectionId).setRecord(false)
    await becomes('idle')
    room.participant(started.connectionId).setRecord(true)
    await becomes('playing')
    const [recorded] = await recorder.stop()
    expect(recorded).toMatchObject({ streamId: started.streamId, hasAudio: true, hasVideo: true })
    await becomes('idle')
  })

  it('is read again after it was lost, and its packets continue', async () => {
    const started = call()
    await cameras.startCamera(started)
    const viewer = await view(started)
    await receives(viewer)
    camera.fault = 'garbage'
    camera.drop()
    await until('the loss is reported', () => statuses().at(-1) === 'reconnecting')
    expect(changes.at(-1)?.error).toMatch(/camera/)
    const before = viewer.packets.video.at(-1)
    camera.fault = undefined
    await receives(viewer)
    expect(changes.at(-1)).toMatchObject({ status: 'playing', error: null })
    const next = viewer.packets.video[viewer.packets.video.indexOf(before!) + 1]
    expect((next!.sequence - before!.sequence) & 0xffff).toBe(1)
    expect(changes.map(({ revision }) => revision)).toEqual(changes.map((_, index) => index + 1))
  })

  it('is playing as soon as its picture arrives, however late that is', async () => {
    camera.rewrite = (packet, track) => (track === 0 ? undefined : packet)
    const started = call({ tracks: { hasAudio: true, hasVideo: true } })
    await service({ MEDIA_NODE_CAMERA_TIMEOUT: String(TIMEOUT_MS) }).startCamera(started)
    const { packets } = await view(started)
    await until('the sound arrives without the picture', () => packets.audio.length > 10)
    expect(statuses()).toEqual(['connecting'])
    camera.rewrite = (packet) => packet
    await until('the picture arrives', () => packets.video.length > 10)
    expect(statuses()).toEqual(['connecting', 'playing'])
  })

  it('with a known track has no other that the camera sends, and its loss is found as early', async () => {
    const started = call({ tracks: { hasAudio: false, hasVideo: true } })
    await service({ MEDIA_NODE_CAMERA_TIMEOUT: String(TIMEOUT_MS) }).startCamera(started)
    const { packets } = await view(started)
    await until('the picture arrives', () => packets.video.length > 10)
    expect(streamOf(started).tracks).toHaveLength(1)
    camera.fault = 'sends nothing'
    const since = performance.now()
    await until('the loss is reported', () => statuses().at(-1) === 'reconnecting')
    // While a stream waits for an answer, the program waits for six timeouts.
    expect(performance.now() - since).toBeLessThan(5 * TIMEOUT_MS)
  })

  it('is read again when its program is killed or suspended', async () => {
    const started = call()
    await cameras.startCamera(started)
    const viewer = await view(started)
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      await receives(viewer)
      const [former] = programs()
      process.kill(former!, signal)
      await until('another program reads it', () => programs().some((pid) => pid !== former), 30_000)
    }
    await receives(viewer)
  }, 90_000)

  it('hangs: the loss is reported, and it is read again', async () => {
    const started = call()
    await cameras.startCamera(started)
    const viewer = await view(started)
    await receives(viewer)
    camera.fault = 'hangs'
    await until('the timeout is reported', () => changes.at(-1)?.error === 'the camera does not answer', 30_000)
    camera.fault = undefined
    await receives(viewer)
  }, 60_000)

  it('is refused with a wrong password or without a stream, and leaves nothing', async () => {
    const clips = { main: { file, kinds: ['video', 'audio'] } } as const
    const credentials = { user: 'admin', password: 'right', scheme: 'Digest' } as const
    const locked = await RtspServer.start({ clips, credentials })
    try {
      for (const [uri, cause] of [
        [locked.url('main').replace('://', `://admin:${PASSWORD}@`), 'rejected the credentials'],
        [camera.url('none'), 'no stream at this address'],
      ] as const) {
        const started = call({ uri })
        const error = await cameras.startCamera(started).catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(ServiceError)
        expect(error).toMatchObject({ code: 'CAMERA_FAILED' })
        expect(String(error)).toContain(cause)
        expect(String(error)).not.toContain(PASSWORD)
        expect(stack.service.counts).toMatchObject({ cameras: 0, connections: 0, streams: 0 })
        expect(await stack.inside(started.roomId)).toEqual({ transports: 0, producers: 0, consumers: 0 })
      }
    } finally {
      await locked.stop()
    }
  })

  it('is refused and reported with adaptativeBitrate false while its video has to be encoded', async () => {
    const h265 = await makeCameraClip(folder, { video: 'h265', audio: 'opus' })
    const kinds = ['video', 'audio'] as const
    const text = 'the camera sends H265 video that must be transcoded, which adaptativeBitrate false prevents'
    let changing = await RtspServer.start({ clips: { main: { file: h265, kinds } } })
    const { port } = changing
    const change = async (to: string): Promise<void> => {
      await changing.stop()
      changing = await RtspServer.start({ clips: { main: { file: to, kinds } }, port })
    }
    const started = call({ uri: changing.url('main'), adaptativeBitrate: false })
    try {
      await expect(cameras.startCamera(started)).rejects.toMatchObject({ code: 'CAMERA_FAILED', message: text })
      expect(await stack.inside(started.roomId)).toEqual({ transports: 0, producers: 0, consumers: 0 })
      await change(file)
      await cameras.startCamera(started)
      const viewer = await view(started)
      await receives(viewer)
      await change(h265)
      await until('the codec is reported', () => changes.at(-1)?.error === text, 30_000)
      expect(statuses().at(-1)).toBe('reconnecting')
      await change(file)
      await receives(viewer)
      expect(changes.at(-1)).toMatchObject({ status: 'playing', error: null })
    } finally {
      await stack.service.leave(started)
      await changing.stop()
    }
  }, 60_000)

  it('that returns without its picture says so, until it has the picture again', async () => {
    const sound = { main: { file, kinds: ['audio'] } } as const
    const both = { main: { file, kinds: ['video', 'audio'] } } as const
    let changing = await RtspServer.start({ clips: both })
    const { port } = changing
    const started = call({ uri: changing.url('main') })
    try {
      await cameras.startCamera(started)
      const viewer = await view(started)
      await receives(viewer)
      await changing.stop()
      changing = await RtspServer.start({ clips: sound, port })
      await until('the lack is reported', () => changes.at(-1)?.error === 'the camera sends no picture', 30_000)
      expect(statuses().at(-1)).toBe('reconnecting')
      await changing.stop()
      changing = await RtspServer.start({ clips: both, port })
      await receives(viewer)
      await until('it is playing', () => statuses().at(-1) === 'playing')
      expect(changes.at(-1)?.error).toBeNull()
    } finally {
      await stack.service.leave(started)
      await changing.stop()
    }
  }, 60_000)

  it('with known tracks is published at once, and appears as soon as it is reachable', async () => {
    const clips = { main: { file, kinds: ['video', 'audio'] } } as const
    const early = await RtspServer.start({ clips })
    const [uri, port] = [early.url('main'), early.port]
    await early.stop()
    const started = call({ uri, tracks: { hasAudio: true, hasVideo: true } })
    await cameras.startCamera(started)
    const viewer = await view(started)
    await until('the failure is reported', () => statuses().at(-1) === 'reconnecting')
    const late = await RtspServer.start({ clips, port })
    try {
      await until(
        'audio and video arrive',
        () => viewer.packets.video.length > 5 && viewer.packets.audio.length > 5,
        20_000,
      )
    } finally {
      await stack.service.leave(started)
      await late.stop()
    }
  }, 60_000)

  it('ends with its room, and a repeated start replaces it', async () => {
    const started = call()
    await cameras.startCamera(started)
    const [former] = programs()
    const left: unknown[] = []
    stack.service.rooms.get(started.roomId).observe({
      published: () => undefined,
      unpublished: () => undefined,
      changed: () => undefined,
      closed: () => undefined,
      left: (connectionId, isReplaced) => void left.push({ connectionId, isReplaced }),
    })
    await cameras.startCamera(started)
    expect(left).toEqual([{ connectionId: 'cam', isReplaced: true }])
    await until('the former program has ended', () => !programs().includes(former!) && programs().length === 1)
    await stack.service.closeRoom(started)
    await until('its program has ended', () => programs().length === 0)
  })

  it('is not read at an address of this machine', async () => {
    const started = call()
    const source = { ...started.source, allowedAddresses: [] }
    await expect(cameras.startCamera({ ...started, source })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('rtspUri'),
    })
  })
})
