/** @quiet Encoders need the CPU to keep up. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { RecordedFile } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import { Composition } from './fixtures/composition.js'
import { coloursAt, loudness, probe } from './fixtures/recorded.js'

const picture = (colour: string): string => `color=${colour}:size=320x180:rate=25`
const TONE = 'sine=frequency=440:sample_rate=48000'
const SIZE = { width: 640, height: 360 }
/** Beside the names, which are centred. */
const LEFT = [160, 110] as const
const RIGHT = [480, 110] as const
const PATIENCE_MS = 40_000

let composition: Composition
beforeEach(async () => void (composition = await Composition.open()))
afterEach(() => composition.close())

const seconds = ({ startedAt, endedAt }: RecordedFile): number => (endedAt - startedAt) / 1_000
const sees = (...colours: string[]): Promise<unknown> =>
  until(
    `the file ends with ${colours.join()}`,
    async () => {
      const path = join(composition.folder, 'composed.mp4')
      return (await coloursAt(path, SIZE, [LEFT, RIGHT])).at(-1)?.join() === colours.join()
    },
    PATIENCE_MS,
  )
/** UDP sockets only: its threads use other sockets to wake each other. */
function sockets(): number {
  const lines = readFileSync('/proc/net/udp', 'utf8').split('\n').slice(1)
  const links = new Set(lines.map((line) => `socket:[${line.trim().split(/\s+/)[9] ?? ''}]`))
  return composition
    .compositors()
    .flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((name) => linkOf(`/proc/${pid}/fd/${name}`)))
    .filter((link) => links.has(link)).length
}
/** Empty when it has been closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
const isSuspended = (pid: number): boolean => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
const isRecorded = (kbytes: number, name = 'composed.mp4'): Promise<unknown> =>
  until(
    `${kbytes} kB are recorded`,
    async () => (await stat(join(composition.folder, name))).size > kbytes * 1_000,
    PATIENCE_MS,
  )

it.each([
  { codec: 'VP8', frameRate: 25, ...SIZE },
  { codec: 'H264', frameRate: 10, ...SIZE },
] as const)('a room becomes a file as asked: %j', async ({ codec, width, height, frameRate }) => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE, codec })
  const recorder = composition.recorder({ width, height, frameRate })
  await recorder.start()
  expect((await stat(join(composition.folder, 'composed.mp4'))).size).toBeGreaterThan(0)
  await sees('red', 'red')
  const [file, ...others] = await recorder.stop()
  expect(others).toEqual([])
  expect(file).toMatchObject({ name: 'composed.mp4', hasAudio: true, hasVideo: true })
  const { duration, streams } = await probe(composition.path(file!))
  expect(streams).toMatchObject([{ codec: 'h264', width, height }, { codec: 'aac' }])
  expect(streams[0]!.fps).toBeCloseTo(frameRate, 0)
  expect(Math.abs(duration - seconds(file!))).toBeLessThan(0.5)
  expect(composition.ends).toEqual([])
})

it('a stream that is published, muted, unmuted and unpublished changes the picture accordingly', async () => {
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  const red = await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  await sees('red', 'red')
  const blue = await composition.publish({ connectionId: 'blue', video: picture('blue') })
  await sees('red', 'blue')
  await blue.mute()
  await sees('red', 'tile')
  await blue.unmute()
  await sees('red', 'blue')
  await red.leave()
  await sees('blue', 'blue')
  await blue.leave()
  await sees('black', 'black')
  const [file] = await recorder.stop()
  const { duration } = await probe(composition.path(file!))
  expect(Math.abs(duration - seconds(file!))).toBeLessThan(0.5)
}, 180_000)

it('a participant without video is shown by name', async () => {
  await composition.publish({ connectionId: 'mute', video: picture('red'), isSilent: true, clientData: 'Muted' })
  await composition.publish({ connectionId: 'voice', audio: TONE, clientData: '{"clientData":"<b>Voice & co</b>"}' })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('tile', 'tile')
  await recorder.stop()
  expect(composition.ends).toEqual([])
})

it('a participant with too large pictures is shown by name and is audible', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red') })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  const before = sockets()
  await composition.publish({ connectionId: 'huge', video: 'color=blue:size=4200x2400:rate=2', audio: TONE })
  await until('it is refused', () => composition.warnings.length > 0, PATIENCE_MS)
  // Two for audio: RTP and RTCP.
  await until('its sound alone is taken', () => sockets() === before + 2, PATIENCE_MS)
  await sees('red', 'tile')
  expect(sockets()).toBe(before + 2)
  await recorder.stop()
  expect(composition.warnings).toEqual([expect.objectContaining({ problem: 'its pictures are too large' })])
  expect(composition.ends).toEqual([])
}, 180_000)

it('interlaced pictures are shown', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red') })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await composition.publish({ connectionId: 'tv', video: picture('blue'), codec: 'H264', isInterlaced: true })
  await sees('red', 'blue')
  await recorder.stop()
  expect(composition.ends).toEqual([])
})

it('streams that cannot be decoded are shown by name and do not affect the others', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red') })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  const damaged = ['noise1', 'noise2', 'noise3'].map((connectionId) =>
    composition.publish({ connectionId, video: picture('blue'), isDamaged: true }),
  )
  await Promise.all(damaged)
  await sees('red', 'tile')
  await recorder.stop()
  expect(composition.ends).toEqual([])
})

it('a recording without video has audio only', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  const recorder = composition.recorder({ hasVideo: false })
  await recorder.start()
  await isRecorded(20, 'composed.webm')
  const [file] = await recorder.stop()
  const { duration, streams } = await probe(composition.path(file!))
  expect(streams).toMatchObject([{ codec: 'opus' }])
  expect(Math.abs(duration - seconds(file!))).toBeLessThan(0.5)
})

it('a recording without audio has video only', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  const recorder = composition.recorder({ ...SIZE, hasAudio: false })
  await recorder.start()
  await sees('red', 'red')
  const [file] = await recorder.stop()
  expect((await probe(composition.path(file!))).streams).toMatchObject([{ codec: 'h264' }])
})

it.each([
  [101, 1999],
  [1999, 101],
  [100, 100],
])('%d × %d is recorded without the odd line', async (width, height) => {
  await composition.publish({ connectionId: 'red', video: picture('red') })
  const recorder = composition.recorder({ width, height, frameRate: 5 })
  await recorder.start()
  const even = { width: width & ~1, height: height & ~1 }
  const middle = [[width / 2, height / 2]] as const
  const path = join(composition.folder, 'composed.mp4')
  const isRed = async (): Promise<boolean> => (await coloursAt(path, even, middle)).at(-1)?.[0] === 'red'
  await until('the middle is red', isRed, PATIENCE_MS)
  const [file] = await recorder.stop()
  expect((await probe(composition.path(file!))).streams[0]).toMatchObject({ codec: 'h264', ...even })
})

it('the end of the room is reported, and the file is available', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red') })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  composition.room.close()
  expect(composition.ends).toEqual([undefined])
  const [file] = await recorder.stop()
  expect((await probe(composition.path(file!))).duration).toBeGreaterThan(0)
})

it('the death of the compositor is reported, and the file is playable', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  composition.signalCompositors('SIGKILL')
  await until('the end is reported', () => composition.ends.length > 0)
  expect(composition.ends).toEqual([expect.stringContaining('SIGKILL')])
  const [file] = await recorder.stop()
  expect((await probe(composition.path(file!))).duration).toBeGreaterThan(0.5)
})

it.each([true, false])(
  'a compositor that is suspended is killed, its file ends there (video %s)',
  async (hasVideo) => {
    await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
    const recorder = composition.recorder({ ...SIZE, hasVideo })
    await recorder.start()
    await isRecorded(20, hasVideo ? 'composed.mp4' : 'composed.webm')
    composition.signalCompositors('SIGSTOP')
    // It may complete a write after the signal was sent.
    await until('it is suspended', () => composition.compositors().every(isSuspended))
    const suspendedAt = serviceClock.now()
    await until('it is killed', () => composition.ends.length > 0, PATIENCE_MS)
    expect(composition.ends).toEqual([expect.stringMatching(/compositor wrote nothing for \d+ s$/)])
    expect(composition.compositors()).toEqual([])
    const [file] = await recorder.stop()
    expect(file!.endedAt).toBeLessThanOrEqual(suspendedAt)
    const { duration } = await probe(composition.path(file!))
    expect(duration).toBeGreaterThan(0.5)
    expect(Math.abs(duration - seconds(file!))).toBeLessThan(1.5)
  },
  60_000,
)

it('a suspended compositor does not delay a stop', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  composition.signalCompositors('SIGSTOP')
  const [file] = await recorder.stop()
  expect(composition.compositors()).toEqual([])
  expect((await probe(composition.path(file!))).duration).toBeGreaterThan(0.5)
  expect(composition.ends).toEqual([])
}, 60_000)

it('a compositor that was suspended for a moment continues without a gap', async () => {
  await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  await sees('red', 'red')
  composition.signalCompositors('SIGSTOP')
  // The duration of the suspension, not a wait for a condition.
  await pause(1_500)
  composition.signalCompositors('SIGCONT')
  await isRecorded(70)
  const [file] = await recorder.stop()
  const { duration, streams } = await probe(composition.path(file!))
  expect(Math.abs(duration - seconds(file!))).toBeLessThan(0.1)
  // The sound is a little longer.
  expect(streams[0]!.frames).toBeGreaterThanOrEqual(Math.floor(duration * 25) - 1)
  const { share, silent } = await loudness(composition.path(file!))
  // On a busy machine the sender lacks some of it.
  console.info(`${duration} s, silent at ${JSON.stringify(silent)}`)
  expect(share).toBeGreaterThan(0.85)
})

it('the start fails when the compositor cannot write', async () => {
  const recorder = composition.recorder({ ...SIZE, folder: '/nowhere/to/be/found' })
  await expect(recorder.start()).rejects.toMatchObject({ code: 'LAUNCH_FAILED' })
  expect(await recorder.stop()).toEqual([])
})

it('a stop during the start ends the recording', async () => {
  const recorder = composition.recorder(SIZE)
  const starting = recorder.start().then(
    () => 'started',
    ({ code }: { code: string }) => code,
  )
  const files = await recorder.stop()
  expect(['started', 'LAUNCH_FAILED']).toContain(await starting)
  expect(files.length).toBeLessThan(2)
})
