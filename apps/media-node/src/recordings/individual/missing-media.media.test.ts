import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import type { RecordingJob } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { MediaStack } from '../../rooms/fixtures/media-stack.js'
import type { Room } from '../../rooms/room.js'
import { Camera, makeClip, type CameraOptions } from '../fixtures/camera.js'
import { probe } from '../fixtures/probe.js'
import type { Recorder } from '../recorder/recorder.js'
import { individualRecorder } from './fixtures/individual-recorder.js'

const ROOM = 'room'
/** Programs start late on a slow machine. */
const PATIENCE_MS = 20_000

let stack: MediaStack
let room: Room
let folder: string
let clip: string
let rareKeyFrames: string
let recorder: Recorder
let ends: (string | undefined)[]
let cameras: Camera[]

beforeAll(async () => {
  stack = await MediaStack.start()
  await stack.join(ROOM, 'someone', { videoCodec: 'VP8' })
  room = stack.service.rooms.get(ROOM)
  clip = await makeClip(await mkdtemp(join(tmpdir(), 'missing-media-')))
  rareKeyFrames = await makeClip(join(clip, '..'), 'VP8', { seconds: 6, hasRareKeyFrames: true })
})
afterEach(async () => {
  await recorder.stop()
  await Promise.all(cameras.map((camera) => camera.unpublish()))
})
afterAll(async () => {
  await stack.stop()
  await rm(join(clip, '..'), { recursive: true, force: true })
})

/** A recorder of the room with these streams. */
async function recording(
  streams: Record<string, Partial<CameraOptions>>,
  job: Partial<RecordingJob> = {},
): Promise<void> {
  folder = await mkdtemp(join(clip, '..', 'part-'))
  ends = []
  cameras = []
  for (const [streamId, options] of Object.entries(streams))
    cameras.push(await Camera.publish(stack, room, streamId, { clip, ...options }))
  recorder = individualRecorder({ room, folder, onEnded: (failure) => void ends.push(failure) }, job)
}

const growsTo = (name: string, bytes: number): Promise<unknown> =>
  until(
    `${bytes} bytes in ${name}`,
    async () => ((await stat(join(folder, name)).catch(() => undefined))?.size ?? 0) > bytes,
    PATIENCE_MS,
  )

const exists = (name: string): Promise<boolean> =>
  stat(join(folder, name)).then(
    () => true,
    () => false,
  )

it('a stream whose video has no picture is recorded with its audio, and with both once a picture arrives', async () => {
  await recording({ str_A: {}, str_B: { sends: ['audio'] } })
  await recorder.start()
  await growsTo('str_B.webm', 4_000)
  cameras[1]!.sendPicture()
  await growsTo('str_B-1.webm', 10_000)
  const files = await recorder.stop()
  expect(ends).toEqual([])
  expect(files.map(({ name, hasAudio, hasVideo }) => [name, hasAudio, hasVideo]).toSorted()).toEqual([
    ['str_A.webm', true, true],
    ['str_B-1.webm', true, true],
    ['str_B.webm', true, false],
  ])
  const [one, next] = ['str_B.webm', 'str_B-1.webm'].map((name) => files.find((file) => file.name === name)!)
  // Nothing is missing between them.
  expect(next!.startedAt).toBeLessThan(one!.endedAt)
  const probed = await Promise.all([one!, next!].map(({ name }) => probe(join(folder, name))))
  expect(probed.map(({ codecs }) => codecs)).toEqual([['opus'], ['opus', 'vp8']])
  expect(Math.abs(probed[0]!.duration - (one!.endedAt - one!.startedAt) / 1_000)).toBeLessThan(0.5)
}, 60_000)

it('a stream with rare key frames gets its picture with a later file, that of a copied camera at its first key frame', async () => {
  const rare = { clip: rareKeyFrames }
  const streams = { str_A: { ...rare, sends: ['audio'] }, str_B: { ...rare, sends: ['audio'] } } as const
  await recording({ ...streams, str_C: { ...rare, isCopied: true } })
  const [one, other, copied] = cameras
  // The next key frame is 6 s away.
  await until('the picture of the copied camera', async () => {
    const stats = await copied!.stream.track('video')!.producer.getStats()
    return stats.some(({ packetCount }) => packetCount > 10)
  })
  const started = recorder.start()
  await growsTo('str_A.webm', 4_000)
  one!.sendPicture()
  await started
  await growsTo('str_A-1.webm', 10_000)
  await growsTo('str_C-1.webm', 10_000)
  other!.sendPicture()
  await until('another file waits for its picture', () => exists('str_B-1.webm.sdp'))
  const files = await recorder.stop()
  expect(ends).toEqual([])
  expect(files.map(({ name, hasAudio, hasVideo }) => [name, hasAudio, hasVideo]).toSorted()).toEqual([
    ['str_A-1.webm', true, true],
    ['str_A.webm', true, false],
    ['str_B.webm', true, false],
    ['str_C-1.webm', true, true],
    ['str_C.webm', true, false],
  ])
  for (const id of ['str_A', 'str_C']) {
    const [former, next] = [`${id}.webm`, `${id}-1.webm`].map((name) => files.find((file) => file.name === name)!)
    // Nothing is missing between them.
    expect(next!.startedAt).toBeLessThan(former!.endedAt)
    const probed = await probe(join(folder, next!.name))
    expect(probed.codecs).toEqual(['opus', 'vp8'])
    // The first picture does not have the time of an earlier sound.
    expect(probed.gap('video')).toBeLessThan(1)
  }
  const [first, second] = ['str_C.webm', 'str_C-1.webm'].map((name) => files.find((file) => file.name === name)!)
  // The key frame after the next one comes after 12 s.
  expect(second!.startedAt - first!.startedAt).toBeLessThan(9_000)
}, 60_000)

it('a part that continues a recording starts without the streams that send nothing or cannot be tapped', async () => {
  await recording({ str_A: {}, str_silent: { mute: true }, str_broken: { mute: true } }, { continues: true })
  await cameras[2]!.close()
  await recorder.start()
  await growsTo('str_A.webm', 10_000)
  expect((await recorder.stop()).map(({ name }) => name)).toEqual(['str_A.webm'])
  expect(ends).toEqual([])
})

it('a part that continues a recording does not wait for media, and records a stream that sends later', async () => {
  await recording({ str_A: { sends: [] } }, { continues: true })
  const startedAt = performance.now()
  await recorder.start()
  // It would wait for 10 s.
  expect(performance.now() - startedAt).toBeLessThan(8_000)
  cameras[0]!.sendPicture()
  await growsTo('str_A.webm', 2_000)
  expect((await recorder.stop()).map(({ name }) => name)).toEqual(['str_A.webm'])
})
