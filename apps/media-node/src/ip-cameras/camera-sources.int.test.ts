import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { makeCameraClip, makeCertificate, RtspServer, type RtspServerOptions, until } from '@session-service/testing'
import { nalTypes, profileOf, sequenceOf, Viewer, type ViewerOptions } from './fixtures/viewer.js'

const SPS = 7
const PPS = 8
const IDR = 5
const BASELINE = 66
/** Ticks of an RTP timestamp in a millisecond. */
const VIDEO_CLOCK_MS = 90
/** Ticks between two pictures of a clip with 15 pictures a second. */
const PICTURE_STEP = 6_000
const HEADER = 12
const EXTENSION_WORDS = 15_000
/** Streams are waited for 1.5 s, except the video. */
const LATE_MS = 2_000
/** By which the clock of a camera goes back. */
const CORRECTION_MS = 300
const CREDENTIALS = { user: 'ann', password: 'p@ss:w/ö d' }

let folder: string
let camera: RtspServer
let viewer: Viewer | undefined
const servers: RtspServer[] = []

async function serve(options: Omit<RtspServerOptions, 'clips'>, like: RtspServerOptions['clips']): Promise<RtspServer> {
  const server = await RtspServer.start({ ...options, clips: like })
  servers.push(server)
  return server
}

const clips: Record<string, { file: string; kinds: readonly ('video' | 'audio')[] }> = {}
const BOTH = ['video', 'audio'] as const

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  const [aac, pcma, opus, h265, mjpeg, reordered, hidden, silent, mpeg4, vp8, vp9, unspecified] = await Promise.all([
    makeCameraClip(folder, { video: 'h264', audio: 'aac' }),
    makeCameraClip(folder, { video: 'h264', audio: 'pcma' }),
    makeCameraClip(folder, { video: 'h264', audio: 'opus' }),
    makeCameraClip(folder, { video: 'h265', audio: 'opus' }),
    makeCameraClip(folder, { video: 'mjpeg' }),
    makeCameraClip(folder, { video: 'h264-b-frames' }),
    makeCameraClip(folder, { video: 'h264-hidden-b-frames' }),
    makeCameraClip(folder, { video: 'h264' }),
    makeCameraClip(folder, { video: 'mpeg4', audio: 'g722' }),
    makeCameraClip(folder, { video: 'vp8' }),
    makeCameraClip(folder, { video: 'vp9' }),
    makeCameraClip(folder, { video: 'h264-hidden-order', picture: 'color=gray:size=320x180:rate=60' }),
  ])
  clips.aac = { file: aac, kinds: BOTH }
  clips.pcma = { file: pcma, kinds: BOTH }
  clips.opus = { file: opus, kinds: BOTH }
  clips.h265 = { file: h265, kinds: BOTH }
  clips.mjpeg = { file: mjpeg, kinds: ['video'] }
  clips.reordered = { file: reordered, kinds: ['video'] }
  clips.hidden = { file: hidden, kinds: ['video'] }
  clips.silent = { file: silent, kinds: ['video'] }
  clips.mpeg4 = { file: mpeg4, kinds: BOTH }
  clips.vp8 = { file: vp8, kinds: ['video'] }
  clips.vp9 = { file: vp9, kinds: ['video'] }
  clips.unspecified = { file: unspecified, kinds: ['video'] }
  camera = await serve({}, clips)
})

afterEach(async () => {
  await viewer?.stop()
  viewer = undefined
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  await rm(folder, { recursive: true })
})

function open(options: ViewerOptions): Viewer {
  viewer = new Viewer(options)
  return viewer
}

/** The packets of a camera, one of whose tracks begins later. */
function withLateTrack(server: RtspServer, late: number): RtspServer['rewrite'] {
  let since: number | undefined
  return (packet, track) => {
    if (server.viewers > 0) since ??= performance.now()
    return track === late && performance.now() - (since ?? Infinity) < LATE_MS ? undefined : packet
  }
}

/** Some of them fill what the program receives before the first stream. */
function withLongExtension(packet: Buffer): Buffer {
  const copy = Buffer.from(packet)
  copy[0] = (copy[0] ?? 0) | 0x10
  const extension = Buffer.from([0, 0, EXTENSION_WORDS >> 8, EXTENSION_WORDS & 0xff])
  const words = Buffer.alloc(4 * EXTENSION_WORDS)
  return Buffer.concat([copy.subarray(0, HEADER), extension, words, copy.subarray(HEADER)])
}

async function expectPictures(from: Viewer): Promise<void> {
  const { packets, delays } = await from.media('video', 15)
  const types = packets.flatMap(nalTypes)
  expect(types.slice(0, 4)).toContain(SPS)
  expect(types).toEqual(expect.arrayContaining([SPS, PPS, IDR]))
  expect(packets.every((packet) => packet.length <= 1_200)).toBe(true)
  expect(Math.abs(delays.at(-1) ?? Infinity)).toBeLessThan(1_000)
}

async function expectSound(from: Viewer): Promise<void> {
  const { packets, delays } = await from.media('audio', 15)
  // The code of the first byte says: 20 ms.
  const configurations = packets.map((packet) => (packet[12] ?? 0) >> 3)
  expect(configurations.every((configuration) => configuration > 0)).toBe(true)
  expect(Math.abs(delays.at(-1) ?? Infinity)).toBeLessThan(1_000)
}

describe('streams of RTSP cameras', () => {
  it.each([
    ['aac', { codec: 'H264', copied: true }, { codec: 'AAC', copied: false }],
    ['pcma', { codec: 'H264', copied: true }, { codec: 'PCMA', copied: false }],
    ['h265', { codec: 'H265', copied: false }, { codec: 'OPUS', copied: true }],
    ['mjpeg', { codec: 'JPEG', copied: false }, undefined],
    ['silent', { codec: 'H264', copied: true }, undefined],
    ['mpeg4', { codec: 'MPEG4', copied: false }, { codec: 'G722', copied: false }],
    ['vp8', { codec: 'VP8', copied: false }, undefined],
    ['vp9', { codec: 'VP9', copied: false }, undefined],
  ])('%s is sent as H.264 and Opus', async (clip, video, audio) => {
    const from = open({ uri: camera.url(clip) })
    const { count } = await from.until('streams')
    expect(count).toBe(audio ? 2 : 1)
    expect(from.all('stream').find(({ kind }) => kind === 'video')).toMatchObject(video)
    if (audio) expect(from.all('stream').find(({ kind }) => kind === 'audio')).toMatchObject(audio)
    await expectPictures(from)
    if (audio) await expectSound(from)
  })

  it('H.264 with B-frames is encoded', async () => {
    const from = open({ uri: camera.url('reordered') })
    await from.until('streams')
    expect(from.all('stream')).toMatchObject([{ codec: 'H264', copied: false }])
    await expectPictures(from)
  })

  it.each(['tcp', 'udp'] as const)(
    'H.264 with B-frames over %s keeps the distances of its pictures',
    async (transport) => {
      const from = open({ uri: camera.url('reordered'), transport })
      await from.until('streams')
      const { packets } = await from.media('video')
      await until('a second of pictures has even distances', () => {
        const times = [...new Set(packets.map((packet) => packet.readUInt32BE(4)))]
        const steps = times.slice(1).map((time, at) => time - (times[at] ?? 0))
        return steps.length > 15 && steps.slice(-15).every((step) => Math.abs(step - PICTURE_STEP) < VIDEO_CLOCK_MS)
      })
    },
  )

  it('an encoded video has a key frame each 2 s, and one on request of the live layer only', async () => {
    const from = open({ uri: camera.url('mjpeg'), layers: 3 })
    const { packets, requestKeyFrame } = await from.media('video')
    const keys = (): number[] => {
      const parts = packets.filter((packet) => nalTypes(packet).includes(SPS))
      return [...new Set(parts.map((packet) => packet.readUInt32BE(4)))]
    }
    const distances = (): number[] =>
      keys()
        .slice(1)
        .map((key, at) => (key - (keys()[at] ?? 0)) / 90_000)
    const receiveKeys = (count: number, layer: number): Promise<unknown> => {
      const wanted = keys().length + count
      return until(`${count} key frames`, () => {
        requestKeyFrame(layer)
        return keys().length >= wanted
      })
    }
    await receiveKeys(2, 1)
    for (const distance of distances()) expect(distance).toBeGreaterThan(1.5)
    const { length } = distances()
    await receiveKeys(3, 2)
    for (const distance of distances().slice(length + 1)) expect(distance).toBeLessThan(1.5)
  })

  it('H.264 with B-frames that nothing announces is copied until they occur, and then encoded', async () => {
    const from = open({ uri: camera.url('hidden') })
    await from.until('streams')
    expect(from.all('stream')).toMatchObject([{ codec: 'H264', copied: true }])
    await from.until('reordered')
    const { packets } = await from.media('video')
    const before = packets.length
    await until('encoded pictures follow', () => packets.slice(before).flatMap(nalTypes).includes(IDR))
    const sequences = packets.map(sequenceOf)
    expect(sequences.slice(1).every((sequence, at) => sequence === (sequences[at] ?? 0) + 1)).toBe(true)
    const profiles = packets.slice(before).flatMap(profileOf)
    expect(new Set(profiles)).toEqual(new Set([BASELINE]))
  })

  it.each([
    ['a parameter set that excludes B-frames', 'silent', 10],
    ['a parameter set that allows B-frames, and seldom', 'unspecified', 60],
  ])('H.264 of a camera that corrects its clock is copied, with %s', async (_, clip, distance) => {
    const seen = new Set<number>()
    const server = await serve({}, clips)
    server.rewrite = (packet) => {
      const copy = Buffer.from(packet)
      if (server.viewers > 0) seen.add(packet.readUInt32BE(4))
      const corrections = Math.floor(seen.size / distance)
      copy.writeUInt32BE((packet.readUInt32BE(4) - corrections * CORRECTION_MS * VIDEO_CLOCK_MS) >>> 0, 4)
      return copy
    }
    const from = open({ uri: server.url(clip), copiesVideo: true })
    const { packets } = await from.media('video')
    const sent = (): number => new Set(packets.map((packet) => packet.readUInt32BE(4))).size
    await until('pictures after four corrections arrive', () => sent() > 4.5 * distance || from.all('error').length > 0)
    expect(from.all('error')).toEqual([])
  })

  it.each([
    ['h265', 'H265'],
    ['mjpeg', 'JPEG'],
    ['reordered', 'H264'],
  ])('%s is refused where video may not be encoded', async (clip, codec) => {
    const from = open({ uri: camera.url(clip), copiesVideo: true })
    expect(await from.until('error')).toMatchObject({ cause: 'unsupported', codec })
    await from.exited()
    expect(from.all('streams')).toEqual([])
  })

  it('H.264 is copied where video may not be encoded, and audio is encoded nevertheless', async () => {
    const from = open({ uri: camera.url('aac'), copiesVideo: true })
    await expectPictures(from)
    await expectSound(from)
    expect(from.all('stream').map(({ codec, copied }) => [codec, copied])).toEqual(
      expect.arrayContaining([
        ['H264', true],
        ['AAC', false],
      ]),
    )
  })

  it('have the times of the sender reports of the camera, also when these name no source', async () => {
    camera.secondTrackLateMs = 500
    const from = open({ uri: camera.url('opus') })
    const [video, audio] = [await from.media('video'), await from.media('audio')]
    const last = (delays: readonly number[]): number => delays.at(-1) ?? 0
    await until('the pictures are as late as the sound', () => last(audio.delays) - last(video.delays) > 400)
    expect(Math.abs(last(audio.delays))).toBeLessThan(300)
    camera.secondTrackLateMs = 0
  })

  it('get receiver reports over TCP', async () => {
    const before = camera.reports.length
    const from = open({ uri: camera.url('opus') })
    await from.media('video')
    await until('both tracks are reported', () => {
      const reports = camera.reports.slice(before)
      return new Set(reports.map((report) => report.readUInt32BE(8))).size === 2
    })
    for (const report of camera.reports.slice(before)) {
      expect([report[0], report[1], report.length]).toEqual([0x81, 201, 52])
      expect([report[32], report[33], report.subarray(42, 48).toString()]).toEqual([0x81, 202, 'reader'])
    }
  })

  it.each(['tcp', 'udp'] as const)('sound over %s waits for a picture that begins later', async (transport) => {
    const server = await serve({}, clips)
    server.rewrite = withLateTrack(server, 0)
    const from = open({ uri: server.url('opus'), transport, isIdle: true })
    expect(await from.until('streams')).toMatchObject({ count: 2 })
    for (const stream of from.all('stream')) await from.send(stream)
    await expectPictures(from)
    // Packets that waited are not sent all at once.
    const { delays } = await from.media('audio')
    expect(delays[0]).toBeLessThan(0.8 * LATE_MS)
  })

  it.each(['tcp', 'udp'] as const)('sound over %s that begins very late is sent too', async (transport) => {
    const server = await serve({}, clips)
    server.rewrite = withLateTrack(server, 1)
    const from = open({ uri: server.url('opus'), transport })
    expect(await from.until('streams')).toMatchObject({ count: 1 })
    await expectSound(from)
  })

  it('are read over TCP at a high bit rate where the camera announces sound and sends none', async () => {
    const server = await serve({}, clips)
    server.rewrite = (packet, track) => (track === 0 ? withLongExtension(packet) : undefined)
    const from = open({ uri: server.url('opus') })
    expect(await from.until('streams')).toMatchObject({ count: 1 })
    await expectPictures(from)
  })

  it('are read over UDP', async () => {
    const from = open({ uri: camera.url('aac'), transport: 'udp' })
    await expectPictures(from)
    await expectSound(from)
    expect(from.all('streams')).toEqual([{ event: 'streams', count: 2 }])
  })

  it('are read over UDP where the camera refuses TCP', async () => {
    camera.fault = 'refuses tcp'
    const from = open({ uri: camera.url('aac'), transport: 'auto' })
    await expectPictures(from)
    camera.fault = undefined
  })

  it.each(['Basic', 'Digest'] as const)('are read with %s authentication', async (scheme) => {
    const server = await serve({ credentials: { ...CREDENTIALS, scheme } }, clips)
    await expectPictures(open({ uri: server.url('silent'), ...CREDENTIALS }))
  })

  it('are read over TLS', async () => {
    const tls = await makeCertificate(folder)
    const server = await serve({ tls }, clips)
    await expectPictures(open({ uri: server.url('silent'), trust: tls.cert }))
    await viewer?.stop()
    await expectPictures(open({ uri: server.url('silent'), trust: 'all' }))
    await viewer?.stop()
    const untrusting = open({ uri: server.url('silent') })
    expect(await untrusting.until('error')).toMatchObject({ cause: 'tls' })
  })

  it('end on the camera when the program stops', async () => {
    const from = open({ uri: camera.url('silent') })
    await from.media('video')
    expect(camera.viewers).toBe(1)
    await from.stop()
    await until('the camera has no viewer', () => camera.connections === 0)
  })
})
