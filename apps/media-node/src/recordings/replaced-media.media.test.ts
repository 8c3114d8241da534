/** @quiet Encoders need the CPU to keep up. */
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { RecordingJob } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { serviceClock } from '@session-service/server-kit'
import { Composition } from './composed/fixtures/composition.js'
import type { PlainPublisher } from './composed/fixtures/plain-publisher.js'
import { beepsOf, coloursAt, probe } from './composed/fixtures/recorded.js'
import { createIndividualRecorder } from './individual/individual-recorder.js'

const SIZE = { width: 640, height: 360 }
const SOURCE = { width: 320, height: 180 }
const TONE = 'sine=frequency=440:sample_rate=48000'
const PATIENCE_MS = 40_000
const picture = (colour: string): string => `color=${colour}:size=320x180:rate=25`

let composition: Composition
let red: PlainPublisher
/** Its tracks replace those of `red`; recordings do not know it. */
let blue: PlainPublisher
beforeEach(async () => {
  composition = await Composition.open()
  red = await composition.publish({ connectionId: 'red', video: picture('red'), audio: TONE })
  blue = await composition.publish({ connectionId: 'blue', video: picture('blue'), audio: TONE })
  composition.room.unpublished(blue.stream)
})
afterEach(() => composition.close())

const replace = (kinds: readonly ('audio' | 'video')[]): void =>
  red.stream.replaceMedia(
    new Map(blue.stream.tracks.filter(({ kind }) => kinds.includes(kind)).map((t) => [t.kind, t])),
  )

/** The colours in the middle of the pictures, without repetitions. */
async function colours(path: string, size: typeof SIZE): Promise<string[]> {
  const seen = await coloursAt(path, size, [[size.width / 2, size.height / 4]])
  return seen.flatMap(([colour = ''], at) => (colour === seen[at - 1]?.[0] ? [] : [colour]))
}

it('a composed recording shows the replaced media of a stream and then the published one, without a gap', async () => {
  const recorder = composition.recorder(SIZE)
  const later = { ...SIZE, folder: await mkdtemp(join(composition.folder, 'deferred-')), deferred: true }
  const deferred = composition.recorder(later)
  await Promise.all([recorder.start(), deferred.start()])
  const path = join(composition.folder, 'composed.mp4')
  const shows = (...expected: string[]): Promise<unknown> => {
    const isShown = async (): Promise<boolean> =>
      (await colours(path, SIZE)).filter((colour) => colour !== 'tile' && colour !== 'black').join() === expected.join()
    return until(`the recording shows ${expected.join()}`, isShown, PATIENCE_MS)
  }
  await shows('red')
  replace(['audio', 'video'])
  await shows('red', 'blue')
  red.stream.replaceMedia(new Map())
  await shows('red', 'blue', 'red')
  await Promise.all([recorder.stop(), deferred.stop()])
  const [file] = await composition.compose(later)
  for (const name of [path, join(later.folder, file!.name)]) {
    const seen = await colours(name, SIZE)
    expect(seen.slice(seen.indexOf('red'))).toEqual(['red', 'blue', 'red'])
  }
  expect(composition.ends).toEqual([])
  expect(composition.warnings).toEqual([])
})

it('a recording changes over to replaced media without a picture after a while, and its sound is heard', async () => {
  composition.room.unpublished(red.stream)
  const silence = 'anullsrc=sample_rate=48000:channel_layout=mono'
  const green = await composition.publish({ connectionId: 'green', video: picture('green'), audio: silence })
  const dark = await composition.publish({ connectionId: 'dark', video: picture('red'), isSilent: true })
  composition.room.unpublished(dark.stream)
  const recorder = composition.recorder(SIZE)
  const later = { ...SIZE, folder: await mkdtemp(join(composition.folder, 'deferred-')), deferred: true }
  const deferred = composition.recorder(later)
  await Promise.all([recorder.start(), deferred.start()])
  const path = join(composition.folder, 'composed.mp4')
  const isGreen = async (): Promise<boolean> => (await colours(path, SIZE)).at(-1) === 'green'
  await until('the recording shows green', isGreen, PATIENCE_MS)
  const tracks = [...blue.stream.tracks, ...dark.stream.tracks]
  green.stream.replaceMedia(new Map(tracks.map((track) => [track.kind, track])))
  await until('the sound is heard', async () => (await beepsOf(path)).length > 0, PATIENCE_MS)
  await until('the picture has ended', async () => (await colours(path, SIZE)).at(-1) === 'tile', PATIENCE_MS)
  await Promise.all([recorder.stop(), deferred.stop()])
  const [file] = await composition.compose(later)
  const composed = join(later.folder, file!.name)
  expect(await beepsOf(composed)).toHaveLength(1)
  expect((await colours(composed, SIZE)).slice(-2)).toEqual(['green', 'tile'])
  expect(composition.ends).toEqual([])
})

it('recordings do not show media that is replaced while they begin to receive the stream', async () => {
  composition.room.unpublished(red.stream)
  const recorder = composition.recorder(SIZE)
  const later = { ...SIZE, folder: await mkdtemp(join(composition.folder, 'deferred-')), deferred: true }
  const deferred = composition.recorder(later)
  await Promise.all([recorder.start(), deferred.start()])
  composition.room.published(red.stream)
  replace(['audio', 'video'])
  const path = join(composition.folder, 'composed.mp4')
  const isBlue = async (): Promise<boolean> => (await colours(path, SIZE)).includes('blue')
  await until('the recording shows blue', isBlue, PATIENCE_MS)
  await Promise.all([recorder.stop(), deferred.stop()])
  const [file] = await composition.compose(later)
  for (const name of [path, join(later.folder, file!.name)]) {
    const seen = await colours(name, SIZE)
    expect([seen.includes('red'), seen.at(-1)]).toEqual([false, 'blue'])
  }
  expect(composition.ends).toEqual([])
})

it('a composed recording shows the new tracks of a publisher that replaced its own', async () => {
  const recorder = composition.recorder(SIZE)
  await recorder.start()
  const path = join(composition.folder, 'composed.mp4')
  const shown = async (): Promise<string> =>
    (await colours(path, SIZE)).filter((colour) => colour !== 'tile' && colour !== 'black').join()
  await until('the recording shows red', async () => (await shown()) === 'red', PATIENCE_MS)
  await red.replaceMedia({ video: picture('green') })
  await until('the recording shows green after red', async () => (await shown()) === 'red,green', PATIENCE_MS)
  await recorder.stop()
  expect(composition.ends).toEqual([])
  expect(composition.warnings).toEqual([])
})

it('an individual recording continues with the replaced media in another file', async () => {
  const folder = await mkdtemp(join(composition.folder, 'part-'))
  const ends: unknown[] = []
  const recorder = createIndividualRecorder({
    job: {
      hasAudio: true,
      hasVideo: true,
      output: { kind: 'INDIVIDUAL', ignoreFailedStreams: false },
    } as RecordingJob,
    room: composition.room,
    folder,
    clock: serviceClock,
    onEnded: (failure) => ends.push(failure),
  })
  await recorder.start()
  const shows = (name: string, colour: string): Promise<unknown> => {
    const isShown = async (): Promise<boolean> =>
      (await colours(join(folder, name), SOURCE).catch(() => [])).join() === colour
    return until(`${name} shows ${colour}`, isShown, PATIENCE_MS)
  }
  await shows('red.webm', 'red')
  // The audio stays that of the publisher.
  replace(['video'])
  await shows('red-1.webm', 'blue')
  // The publisher itself replaces its tracks.
  red.stream.replaceMedia(new Map())
  await shows('red-2.webm', 'red')
  await red.replaceMedia({ video: picture('green') })
  await shows('red-3.webm', 'green')
  const files = await recorder.stop()
  expect(ends).toEqual([])
  expect(files.map(({ name }) => name)).toEqual(['red.webm', 'red-1.webm', 'red-2.webm', 'red-3.webm'])
  const [first, second] = files
  // Nothing is missing between them.
  expect(second!.startedAt).toBeLessThan(first!.endedAt)
  const { streams } = await probe(join(folder, 'red-1.webm'))
  expect(streams.map(({ codec }) => codec).toSorted()).toEqual(['opus', 'vp8'])
})
