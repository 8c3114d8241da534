/** @quiet It compares recordings frame by frame. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { appendFile, mkdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '@session-service/local-stack'
import type { RecordedFile } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import { Composition } from '../composed/fixtures/composition.js'
import { beepsAndFlashes, coloursAt, probe, type Probed } from '../composed/fixtures/recorded.js'
import { Camera, makeClip } from '../fixtures/camera.js'
import { greyFrames, similarity } from './fixtures/frames.js'

const run = promisify(execFile)

const SIZE = { width: 320, height: 180 }
const TONE = 'sine=frequency=440:sample_rate=48000'
const FRAME_MS = 40
/** A change is in the file up to this long after it: packets wait in the live mixer, and for key frames. */
const TRANSITION_MS = [600, 1_000] as const
/** Each state of the session lasts at least this long, so that frames between its two transitions are compared. */
const STATE_MS = TRANSITION_MS[0] + TRANSITION_MS[1] + 10 * FRAME_MS

let composition: Composition
let folder: string
beforeEach(async () => {
  composition = await Composition.open()
  folder = join(composition.folder, 'deferred')
  await mkdir(folder)
})
afterEach(() => composition.close())

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? NaN
const packets = (): string => join(folder, 'packets.log')
const grows = async (path: string, bytes: number): Promise<void> => {
  const before = await stat(path).then(
    ({ size }) => size,
    () => 0,
  )
  await until(`${path} grows by ${bytes} bytes`, async () => (await stat(path)).size > before + bytes, 20_000)
}

/** Whether the process runs only while no other one would (SCHED_IDLE), with the nice value 19. */
function isIdle(pid: number): boolean {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[16] === '19' && fields[38] === '5'
}

async function clapper(): Promise<string> {
  const now = 'lt(mod(t\\,1)\\,0.2)'
  const clip = join(composition.folder, 'clapper.webm')
  const flash = `color=black:size=160x90:rate=25,drawbox=color=white:t=fill:enable=${now}`
  const beep = `aevalsrc=0.5*sin(880*2*PI*t)*${now}:s=48000`
  const codecs =
    '-t 20 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 200k -g 12 -c:a libopus -application voip -b:a 32k -ac 2'
  await run('ffmpeg', [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    flash,
    '-f',
    'lavfi',
    '-i',
    beep,
    ...codecs.split(' '),
    clip,
  ])
  return clip
}

it('a deferred composition makes the same file as the live one', async () => {
  const { stack, room } = composition
  const clip = await clapper()
  const changedAt: number[] = []
  const change = async <T>(what: Promise<T>, bytes: number): Promise<T> => {
    const result = await what
    const at = serviceClock.now()
    changedAt.push(at)
    await grows(packets(), bytes)
    await until('frames of this state lie between its transitions', () => serviceClock.now() > at + STATE_MS)
    return result
  }
  const live = composition.recorder(SIZE)
  const deferred = composition.recorder({ ...SIZE, folder, deferred: true })
  await Promise.all([live.start(), deferred.start()])
  const camera = await change(Camera.publish(stack, room, 'clapper', { clip, dtx: true }), 20_000)
  const bars = await change(
    composition.publish({
      connectionId: 'bars',
      video: 'smptebars=size=160x90:rate=25',
      audio: TONE,
      clientData: 'Bars',
    }),
    30_000,
  )
  await change(bars.mute(), 40_000)
  await change(bars.unmute(), 30_000)
  await change(bars.leave(), 20_000)
  const files = await Promise.all([live.stop(), deferred.stop()])
  changedAt.push(serviceClock.now())
  await camera.close()
  const [liveFile] = files[0]
  const [deferredFile] = await composition.compose({ ...SIZE, folder })
  await expectSame(liveFile!, deferredFile!, changedAt)
}, 120_000)

/** Compares the files; `changedAt`: the times of the changes, around which frames may differ. */
async function expectSame(live: RecordedFile, deferred: RecordedFile, changedAt: readonly number[]): Promise<void> {
  const paths = [composition.path(live), join(folder, deferred.name)] as const
  const [one, other] = await Promise.all(paths.map((path) => probe(path)))
  const shape = ({ streams }: Probed): object[] => streams.map(({ codec, width, height }) => ({ codec, width, height }))
  expect(shape(other!)).toEqual(shape(one!))
  const lengths = [live, deferred].map(({ startedAt, endedAt }) => (endedAt - startedAt) / 1_000)
  expect(Math.abs(other!.duration - lengths[1]!)).toBeLessThan(0.1)
  expect(Math.abs(deferred.endedAt - live.endedAt)).toBeLessThan(100)
  // No frame is dropped.
  expect(other!.streams[0]!.frames).toBe(Math.ceil(lengths[1]! * 25 - 0.5))
  const [flashes, beeps] = await Promise.all(paths.map((path) => beepsAndFlashes(path)))
  console.log(`beeps after flashes, ms: live ${flashes!.after.join(' ')}, deferred ${beeps!.after.join(' ')}`)
  expect(Math.abs(median(beeps!.after) - median(flashes!.after))).toBeLessThanOrEqual(40)
  const [liveFrames, frames] = await Promise.all(paths.map((path) => greyFrames(path, SIZE)))
  const startsLater = Math.round((deferred.startedAt - live.startedAt) / FRAME_MS)
  expect(liveFrames!.length).toBeGreaterThan((lengths[0]! - 0.5) * 25)
  const compared = frames!.map((frame, nth) => ({
    at: deferred.startedAt + nth * FRAME_MS,
    ssim: similarity(frame, liveFrames!, nth + startsLater, SIZE),
  }))
  const isSteady = (at: number): boolean =>
    changedAt.every((change) => at < change - TRANSITION_MS[0] || at > change + TRANSITION_MS[1])
  const steady = compared
    .filter(({ at }) => at > live.startedAt && at < live.endedAt && isSteady(at))
    .map(({ ssim }) => ssim)
  console.log(
    `SSIM of ${steady.length} of ${compared.length} frames: least ${Math.min(...steady).toFixed(4)}, median ${median(steady).toFixed(4)}`,
  )
  // Each state of the session is compared.
  changedAt.slice(1).forEach((end, nth) => {
    const within = compared.filter(({ at }) => at > changedAt[nth]! && at < end && isSteady(at))
    expect(within.length).toBeGreaterThan(5)
  })
  expect(Math.min(...steady)).toBeGreaterThanOrEqual(0.98)
}

it('what was recorded before its recorder was killed is composed, also from incomplete files', async () => {
  const clip = await makeClip(composition.folder)
  const camera = await Camera.publish(composition.stack, composition.room, 'camera', { clip })
  const recorder = composition.recorder({ ...SIZE, folder, deferred: true })
  await recorder.start()
  await grows(packets(), 60_000)
  composition.signalCompositors('SIGKILL')
  await until('the end is reported', () => composition.ends.length > 0)
  expect(composition.ends).toEqual([expect.stringContaining('SIGKILL')])
  await recorder.stop()
  await camera.close()
  // As after a power failure.
  await truncate(packets(), (await stat(packets())).size - 7)
  await appendFile(join(folder, 'timeline.jsonl'), '{"event":"unpub')
  const composing = composition.compose({ ...SIZE, folder })
  await until('it composes at idle priority', () => composition.compositors().some(isIdle))
  const [file] = await composing
  const { duration, streams } = await probe(join(folder, file!.name))
  expect(duration).toBeGreaterThan(1)
  expect(Math.abs(duration - (file!.endedAt - file!.startedAt) / 1_000)).toBeLessThan(0.1)
  expect(streams).toMatchObject([{ codec: 'h264', ...SIZE }, { codec: 'aac' }])
  expect((await beepsAndFlashes(join(folder, file!.name))).beeps.length).toBeGreaterThan(0)
}, 60_000)

it('a recording without video has audio only, and a screen is the large picture of a presentation', async () => {
  const audioOnly = join(folder, 'audio')
  await mkdir(audioOnly)
  const [audio, screen] = [
    { hasVideo: false, folder: audioOnly, deferred: true },
    { ...SIZE, folder, layout: 'HORIZONTAL_PRESENTATION', deferred: true },
  ] as const
  const recorders = [audio, screen].map((options) => composition.recorder(options))
  await Promise.all(recorders.map((recorder) => recorder.start()))
  await composition.publish({ connectionId: 'red', video: 'color=red:size=160x90:rate=25', audio: TONE })
  const blue = 'color=blue:size=160x90:rate=25'
  await composition.publish({ connectionId: 'blue', typeOfVideo: 'SCREEN', video: blue, codec: 'H264' })
  await grows(packets(), 30_000)
  await Promise.all(recorders.map((recorder) => recorder.stop()))
  const [sound] = await composition.compose(audio)
  const [video] = await composition.compose(screen)
  expect((await probe(join(audioOnly, sound!.name))).streams).toMatchObject([{ codec: 'opus' }])
  const seen = await coloursAt(join(folder, video!.name), SIZE, [
    [160, 60],
    [160, 158],
  ])
  expect(seen.at(-1)).toEqual(['blue', 'red'])
}, 60_000)
