/** @quiet @light It compares gaps of recorded media with times of this process. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { RecordedFile, RecordingJob } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { serviceClock } from '@session-service/server-kit'
import { childrenOf } from '../../fixtures/processes.js'
import { MediaStack } from '../../rooms/fixtures/media-stack.js'
import type { Room } from '../../rooms/room.js'
import { Camera, makeClip, type CameraOptions } from '../fixtures/camera.js'
import { beepsAfterFlashes, decodeErrors, probe } from '../fixtures/probe.js'
import type { Recorder } from '../recorder/recorder.js'
import { individualRecorder } from './fixtures/individual-recorder.js'

let stack: MediaStack
let folder: string
let clips: { VP8: string; H264: string }
let rooms = 0
const cameras: Camera[] = []
const recorders: Recorder[] = []

beforeAll(async () => {
  stack = await MediaStack.start()
  folder = await mkdtemp(join(tmpdir(), 'individual-'))
  clips = { VP8: await makeClip(folder, 'VP8'), H264: await makeClip(folder, 'H264') }
})
afterEach(async () => {
  await Promise.all(recorders.splice(0).map((recorder) => recorder.stop()))
  await Promise.all(cameras.splice(0).map((each) => each.close()))
})
afterAll(async () => {
  await stack.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Recording {
  recorder: Recorder
  folder: string
  ended: (string | undefined)[]
}

async function newRoom(videoCodec: 'VP8' | 'H264' = 'VP8'): Promise<Room> {
  const roomId = `room${rooms++}`
  await stack.join(roomId, 'someone', { videoCodec })
  return stack.service.rooms.get(roomId)
}

async function camera(room: Room, streamId: string, options: Partial<CameraOptions> = {}): Promise<Camera> {
  const made = await Camera.publish(stack, room, streamId, { clip: clips[options.codec ?? 'VP8'], ...options })
  cameras.push(made)
  return made
}

async function record(room: Room, job: Partial<RecordingJob> = {}): Promise<Recording> {
  const own = await mkdtemp(join(folder, 'part-'))
  const ended: Recording['ended'] = []
  const recorder = individualRecorder({ room, folder: own, onEnded: (failure) => void ended.push(failure) }, job)
  recorders.push(recorder)
  return { recorder, folder: own, ended }
}

const transportsOf = async (room: Room): Promise<number> =>
  (await Promise.all(room.routers.map(({ router }) => router.dump()))).reduce(
    (sum, { transportIds }) => sum + transportIds.length,
    0,
  )

/** Waits until the file has media: on a slow machine its program starts late. */
const hasMedia = (own: string, name: string) =>
  until(`media in ${name}`, async () => (await stat(join(own, name)).catch(() => undefined))?.size)

const seconds = ({ startedAt, endedAt }: RecordedFile): number => (endedAt - startedAt) / 1_000

it.each([
  ['VP8', 'webm', ['opus', 'vp8']],
  ['H264', 'mkv', ['h264', 'opus']],
] as const)('a stream of %s is a file .%s with both tracks in step, that decodes', async (codec, extension, codecs) => {
  const room = await newRoom(codec)
  // Key frames that cannot be requested, but come often, are as good.
  const sender = await camera(room, 'str_A', { codec, clientData: 'Ada', isCopied: codec === 'H264' })
  const { recorder, folder: own } = await record(room)
  await recorder.start()
  await pause(4_000)
  const files = await recorder.stop()
  expect(files).toEqual([
    {
      name: `str_A.${extension}`,
      size: expect.any(Number),
      hasAudio: true,
      hasVideo: true,
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
      streamId: 'str_A',
      connectionId: sender.peer.connectionId,
      clientData: 'Ada',
      serverData: '',
      typeOfVideo: 'CAMERA',
    },
  ])
  const path = join(own, files[0]!.name)
  const probed = await probe(path)
  expect(probed.codecs).toEqual(codecs)
  expect(Math.abs(probed.duration - seconds(files[0]!))).toBeLessThan(0.5)
  expect(await decodeErrors(path)).toBe('')
  const offsets = await beepsAfterFlashes(path)
  expect(offsets.length).toBeGreaterThanOrEqual(2)
  const inOrder = offsets.toSorted((one, other) => one - other)
  expect(Math.abs(inOrder[Math.floor(inOrder.length / 2)] ?? 1)).toBeLessThan(0.05)
  expect(await readdir(own)).toEqual([`str_A.${extension}`])
})

it('each published stream gets a file, also when it is published again; streams with recording disabled get none', async () => {
  const room = await newRoom()
  const { recorder, folder: own } = await record(room)
  await recorder.start()
  const first = await camera(room, 'str_A')
  await camera(room, 'str_B', { kinds: ['audio'] })
  const unwanted = await camera(room, 'str_C', { record: false })
  await Promise.all(['str_A.webm', 'str_B.webm'].map((name) => hasMedia(own, name)))
  await first.unpublish()
  await camera(room, 'str_A')
  unwanted.peer.setRecord(true)
  await Promise.all(['str_A-1.webm', 'str_C.webm'].map((name) => hasMedia(own, name)))
  unwanted.peer.setRecord(false)
  await pause(500)
  const files = await recorder.stop()
  const shown = files.map(({ name, hasAudio, hasVideo }) => [name, hasAudio, hasVideo])
  expect(shown.toSorted()).toEqual([
    ['str_A-1.webm', true, true],
    ['str_A.webm', true, true],
    ['str_B.webm', true, false],
    ['str_C.webm', true, true],
  ])
  const [one, again] = ['str_A.webm', 'str_A-1.webm'].map((name) => files.find((file) => file.name === name)!)
  expect(again!.startedAt).toBeGreaterThanOrEqual(one!.endedAt)
  // Includes the last packets of a stream that has stopped sending.
  for (const file of [one!, again!]) {
    const { duration } = await probe(join(own, file.name))
    expect(Math.abs(duration - seconds(file))).toBeLessThan(0.5)
  }
})

it('the start is the time of the first recorded packet, and no file starts earlier', async () => {
  const room = await newRoom()
  await camera(room, 'str_A')
  await camera(room, 'str_B', { kinds: ['audio'] })
  const { recorder, folder: own } = await record(room)
  const startedAt = await recorder.start()
  const answeredAt = serviceClock.now()
  await camera(room, 'str_C', { kinds: ['audio'] })
  await hasMedia(own, 'str_C.webm')
  const files = await recorder.stop()
  const [first, second, third] = files.map((file) => file.startedAt).toSorted((a, b) => a - b)
  expect(startedAt).toBe(first)
  expect(second).toBeLessThan(answeredAt)
  expect(third).toBeGreaterThanOrEqual(answeredAt)
})

it('a recording that is stopped right after its start has media', async () => {
  const room = await newRoom()
  await camera(room, 'str_A', { kinds: ['audio'] })
  for (let time = 0; time < 5; time++) {
    const { recorder, folder: own } = await record(room)
    await recorder.start()
    const files = await recorder.stop()
    expect(files.map(({ name }) => name)).toEqual(['str_A.webm'])
    expect((await probe(join(own, 'str_A.webm'))).packets).toBeGreaterThan(0)
  }
})

it('a track that is muted at the start gets a file when it is unmuted; a later mute leaves a gap', async () => {
  const room = await newRoom()
  const sender = await camera(room, 'str_A')
  await sender.setActive({ video: false })
  const { recorder, folder: own } = await record(room)
  await recorder.start()
  await pause(500)
  await sender.setActive({ video: true })
  await pause(1_500)
  await sender.setActive({ audio: false })
  const mutedAt = performance.now()
  await pause(2_000)
  await sender.setActive({ audio: true })
  const silence = (performance.now() - mutedAt) / 1_000
  await pause(1_500)
  const files = await recorder.stop()
  expect(files.map(({ name, hasAudio, hasVideo }) => [name, hasAudio, hasVideo])).toEqual([
    ['str_A.webm', true, false],
    ['str_A-1.webm', true, true],
  ])
  const probed = await probe(join(own, 'str_A-1.webm'))
  expect(probed.gap('video')).toBeLessThan(0.5)
  expect(Math.abs(probed.gap('audio') - silence)).toBeLessThan(0.5)
})

it('a stream that is muted before its first packet does not fail the start, and is recorded once it is unmuted', async () => {
  const room = await newRoom()
  const sender = await camera(room, 'str_A', { kinds: ['video'], mute: true })
  const { recorder, folder: own } = await record(room)
  const starting = recorder.start()
  await until('its file is being opened', async () => (await readdir(own)).includes('str_A.webm.sdp'))
  await sender.setActive({ video: false })
  await starting
  await sender.setActive({ video: true })
  sender.sendPicture()
  await hasMedia(own, 'str_A.webm')
  expect((await recorder.stop()).map(({ name }) => name)).toEqual(['str_A.webm'])
})

it('a stream that sends nothing fails the start unless failed streams are ignored', async () => {
  const room = await newRoom()
  await camera(room, 'str_A')
  await camera(room, 'str_silent', { mute: true })
  const strict = await record(room)
  await expect(strict.recorder.start()).rejects.toMatchObject({
    code: 'LAUNCH_FAILED',
    message: 'no media arrived from stream str_silent',
  })
  await strict.recorder.stop()
  const lenient = await record(room, { output: { kind: 'INDIVIDUAL', ignoreFailedStreams: true } })
  await lenient.recorder.start()
  expect((await lenient.recorder.stop()).map(({ name }) => name)).toEqual(['str_A.webm'])
}, 30_000)

it('a killed recorder is followed by another file of its stream, and ends the part once no stream is recorded', async () => {
  const room = await newRoom()
  await camera(room, 'str_A')
  await camera(room, 'str_B')
  const before = childrenOf(process.pid)
  const { recorder, ended, folder: own } = await record(room)
  await recorder.start()
  const programs = (): number[] => childrenOf(process.pid).filter((pid) => !before.includes(pid))
  await pause(2_500)
  process.kill(programs()[0]!, 'SIGKILL')
  const isFollowed = async (): Promise<boolean> => (await readdir(own)).some((name) => name.endsWith('-1.webm'))
  await until('the stream has another file', isFollowed)
  expect([ended, programs().length]).toEqual([[], 2])
  for (const pid of programs()) process.kill(pid, 'SIGKILL')
  await until('the end is reported', () => ended.length > 0)
  expect(ended[0]).toMatch(/^the recording of stream str_[AB]: ffmpeg was ended by SIGKILL$/)
  const files = (await recorder.stop()).filter(({ name }) => !name.endsWith('-1.webm'))
  expect(files.map(({ name }) => name).toSorted()).toEqual(['str_A.webm', 'str_B.webm'])
  for (const { name } of files) expect((await probe(join(own, name))).duration).toBeGreaterThan(1)
})

it('a suspended recorder is killed and its file ends there; a muted stream does not count as a stall', async () => {
  const room = await newRoom()
  await camera(room, 'str_A')
  const muted = await camera(room, 'str_B')
  const before = childrenOf(process.pid)
  const { recorder, ended, folder: own } = await record(room)
  await recorder.start()
  const programs = childrenOf(process.pid).filter((pid) => !before.includes(pid))
  expect(programs).toHaveLength(2)
  await until('a second is in its file', async () => (await stat(join(own, 'str_B.webm'))).size > 20_000)
  await muted.setActive({ audio: false, video: false })
  // Longer than the stall limit.
  await pause(7_000)
  expect(ended).toEqual([])
  await muted.setActive({ audio: true, video: true })
  for (const pid of programs) process.kill(pid, 'SIGSTOP')
  const suspendedAt = serviceClock.now()
  await until('the end is reported', () => ended.length > 0, 30_000)
  expect(ended[0]).toMatch(/^the recording of stream str_[AB]: ffmpeg wrote nothing for \d+ s$/)
  const files = await recorder.stop()
  expect(childrenOf(process.pid).filter((pid) => programs.includes(pid))).toEqual([])
  expect(files.map(({ name }) => name).toSorted()).toEqual(['str_A.webm', 'str_B.webm'])
  for (const { endedAt } of files) expect(endedAt).toBeLessThanOrEqual(suspendedAt)
  expect((await probe(join(own, 'str_A.webm'))).duration).toBeGreaterThan(5)
}, 60_000)

it('Opus with DTX during silence does not count as a stall', async () => {
  const room = await newRoom()
  const sender = await camera(room, 'str_A', { kinds: ['audio'], mute: true })
  const endSending = sender.sendDtx()
  const { recorder, ended, folder: own } = await record(room)
  await recorder.start()
  // Twice the stall limit.
  await pause(12_000)
  expect(ended).toEqual([])
  await recorder.stop()
  endSending()
  const { duration, packets } = await probe(join(own, 'str_A.webm'))
  expect(duration).toBeGreaterThan(10)
  expect(packets).toBeLessThan(60)
}, 60_000)

it('the end of the room is reported, and no process remains', async () => {
  const room = await newRoom()
  await camera(room, 'str_A')
  const before = childrenOf(process.pid)
  const { recorder, ended } = await record(room)
  await recorder.start()
  room.close()
  expect(ended).toEqual(['the session left the media node'])
  expect(await recorder.stop()).toHaveLength(1)
  expect(childrenOf(process.pid).filter((pid) => !before.includes(pid))).toEqual([])
})

describe('a stop', () => {
  const runningSince = (before: readonly number[]): number[] =>
    childrenOf(process.pid).filter((pid) => !before.includes(pid))

  it('during the start of the files leaves none of them', async () => {
    const room = await newRoom()
    const names = ['str_A', 'str_B', 'str_C']
    for (const name of names) await camera(room, name, { kinds: ['audio'] })
    const transports = await transportsOf(room)
    const before = childrenOf(process.pid)
    const { recorder, folder: own } = await record(room)
    const starting = recorder.start().catch(() => undefined)
    // Each stream has its transport, and none has its file.
    await until('they are being opened', async () => (await transportsOf(room)) === transports + names.length)
    await recorder.stop()
    await starting
    expect(runningSince(before)).toEqual([])
    expect(await transportsOf(room)).toBe(transports)
    expect((await readdir(own)).filter((name) => name.endsWith('.sdp'))).toEqual([])
  })

  it('while a stream changes its file starts no other file', async () => {
    const room = await newRoom()
    const sender = await camera(room, 'str_A')
    await sender.setActive({ video: false })
    const before = childrenOf(process.pid)
    const { recorder, folder: own } = await record(room)
    await recorder.start()
    await sender.setActive({ video: true })
    const files = await recorder.stop()
    expect(files.map(({ name }) => name)).toEqual(['str_A.webm'])
    expect(runningSince(before)).toEqual([])
    expect(await readdir(own)).toEqual(['str_A.webm'])
  })
})
