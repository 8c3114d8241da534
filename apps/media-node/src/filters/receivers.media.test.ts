/** @quiet Encoders need the CPU to keep up. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { RecordingJob } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import { TEST_ENGINES, wordErrorRate, SENTENCES, testEngine } from '@session-service/speech/fixtures'
import { until } from '@session-service/testing'
import { pngOf } from '../media-processor/fixtures/decode.js'
import { coloursAt } from '../recordings/composed/fixtures/recorded.js'
import { createIndividualRecorder } from '../recordings/individual/individual-recorder.js'
import { Captions } from '../speech-to-text/fixtures/captions.js'
import { ModelsFolder } from '../speech-to-text/fixtures/models-folder.js'
import { FiltersService } from './filters.service.js'
import { FilterTestbed } from './fixtures/filter-testbed.js'

const LONG_MS = 120_000
const PATIENCE_MS = 40_000
const SIZE = { width: 640, height: 360 }
const SOURCE = { width: 320, height: 180 }

let testbed: FilterTestbed
beforeEach(async () => void (testbed = await FilterTestbed.open()))
afterEach(() => testbed.close())

/** A white video with an image of this colour in the left upper quarter. */
async function publishWith(colour: string) {
  const { stream } = await testbed.publish({ video: 'color=white:size=320x180:rate=25' })
  const options = { image: await pngOf(colour), x: 0, y: 0, width: 0.5, height: 0.5 }
  return { stream, options }
}

/** Waits until the last picture of the file has these colours in the left upper and in the right lower quarter. */
const ends = (file: string, { width, height }: typeof SIZE, ...colours: string[]): Promise<unknown> =>
  until(
    `the recording ends with ${colours.join()}`,
    async () => {
      const places = [0.2, 0.8].map((part) => [part * width, part * height] as const)
      const last = (await coloursAt(file, { width, height }, places)).at(-1)
      return last?.join() === colours.join()
    },
    PATIENCE_MS,
  )

it('a composed recording shows the filtered picture, and the published one after the filter has ended', async () => {
  const { stream, options } = await publishWith('red')
  const recorder = testbed.composition.recorder(SIZE)
  await recorder.start()
  const file = join(testbed.composition.folder, 'composed.mp4')
  await ends(file, SIZE, 'white', 'white')
  const { filterId } = await testbed.apply(stream, 'ImageOverlayFilter', options)
  await ends(file, SIZE, 'red', 'white')
  const [pid] = testbed.processors()
  process.kill(pid!, 'SIGKILL')
  await until('the end of the filter is reported', () => testbed.reported('filterEnded').length === 1)
  await ends(file, SIZE, 'white', 'white')
  await recorder.stop()
  expect(testbed.reported('filterEnded')).toMatchObject([{ filterId }])
  expect(testbed.composition.ends).toEqual([])
})

it('a filter of replaced tracks stays in force: receivers never see the new picture without it', async () => {
  const publisher = await testbed.publish({ video: 'color=white:size=320x180:rate=25' })
  const { stream } = publisher
  const options = { image: await pngOf('red'), x: 0, y: 0, width: 0.5, height: 0.5 }
  const filter = await testbed.apply(stream, 'ImageOverlayFilter', options)
  // The filter continues with the parameters that were changed meanwhile.
  const call = { ...testbed.ref(stream), filterId: filter.filterId }
  await testbed.filters.execFilterMethod({ ...call, method: 'setImage', params: { image: await pngOf('blue') } })
  const viewer = await testbed.view(stream)
  const [inside, outside] = [
    [0.2, 0.2],
    [0.8, 0.8],
  ] as const
  await viewer.shows('003 333', inside, outside)
  const revision = stream.mediaRevision
  const [former] = stream.forwardedTracks
  await publisher.replaceMedia({ video: 'color=lime:size=320x180:rate=25' })
  testbed.filters.inputReplaced(stream)
  expect([stream.mediaRevision, stream.forwardedTracks[0] === former]).toEqual([revision, true])
  await viewer.shows('003 030', inside, outside)
  expect(stream.mediaRevision).toBe(revision + 1)
  await until('the former filter has ended', () => testbed.composition.room.units.videoFilters === 1)
  await testbed.filters.removeFilter(call)
  await viewer.shows('030 030', inside, outside)
  expect(testbed.reported('filterEnded')).toEqual([])
})

it('a filter whose input is replaced twice while it starts comes into force, and can be changed and removed', async () => {
  const publisher = await testbed.publish({ video: 'color=white:size=320x180:rate=25' })
  const { stream } = publisher
  const options = { image: await pngOf('red'), x: 0, y: 0, width: 0.5, height: 0.5 }
  const filter = testbed.filter('ImageOverlayFilter', options)
  const applying = testbed.filters.applyFilter({ ...testbed.ref(stream), filter })
  await until('the program runs', () => testbed.processors().length > 0)
  const call = { ...testbed.ref(stream), filterId: filter.filterId }
  const changing = testbed.filters.execFilterMethod({
    ...call,
    method: 'setImage',
    params: { image: await pngOf('blue') },
  })
  for (const colour of ['red', 'lime']) {
    await publisher.replaceMedia({ video: `color=${colour}:size=320x180:rate=25` })
    testbed.filters.inputReplaced(stream)
  }
  await applying
  await changing
  const viewer = await testbed.view(stream)
  await viewer.shows('003 030', [0.2, 0.2], [0.8, 0.8])
  await testbed.filters.removeFilter(call)
  await viewer.shows('030 030', [0.2, 0.2], [0.8, 0.8])
  expect(testbed.reported('filterEnded')).toEqual([])
})

it('an individual recording of a filtered stream is the filtered picture', async () => {
  const { stream, options } = await publishWith('blue')
  await testbed.apply(stream, 'ImageOverlayFilter', options)
  const { folder, room } = testbed.composition
  const job = { hasAudio: true, hasVideo: true, output: { kind: 'INDIVIDUAL', ignoreFailedStreams: false } }
  const recorder = createIndividualRecorder({
    job: job as RecordingJob,
    room,
    folder,
    clock: serviceClock,
    onEnded: () => undefined,
  })
  await recorder.start()
  await ends(join(folder, 'pub.webm'), SOURCE, 'blue', 'white')
  const files = await recorder.stop()
  expect(files.map(({ name }) => name)).toEqual(['pub.webm'])
})

const itWithEngine = TEST_ENGINES.length > 0 ? it : it.skip

itWithEngine(
  'the speech of a stream is recognized from its filtered audio, before and after the filter is applied',
  async () => {
    const engine = testEngine('vosk') ?? TEST_ENGINES[0]!
    const models = new ModelsFolder()
    models.link('en-US', engine)
    const captions = await Captions.start(engine, { models })
    try {
      const { roomId, pub } = await captions.room()
      await captions.subscribe(roomId)
      const send = async () => ({ dropRoomIds: [] })
      const service = captions.stack.service
      const filters = new FiltersService({ MEDIA_NODE_FILTER_PIPELINES: {} }, service, { send }, () => ({}))
      const [first = '', second = ''] = SENTENCES
      await pub.say([first])
      await captions.recognized(roomId, 1)
      const call = { roomId, connectionId: 'pub', streamId: 'str' }
      const apply = (gain: number) =>
        filters.applyFilter({
          ...call,
          filter: { filterId: `gain${gain}`, type: 'AudioGainFilter', options: { gain } },
        })
      await apply(0)
      await pub.say([second])
      const [, recognized] = await captions.recognized(roomId, 2)
      expect(wordErrorRate(second, recognized!.text)).toBeLessThanOrEqual(0.25)
      // Silence has no text.
      await apply(-60)
      await pub.say([second])
      await filters.removeFilter({ ...call, filterId: 'gain-60' })
      await pub.say([first])
      const texts = (await captions.recognized(roomId, 3)).map(({ text }) => text)
      expect(wordErrorRate(first, texts[2]!)).toBeLessThanOrEqual(0.25)
      expect(texts).toHaveLength(3)
    } finally {
      await captions.stop()
      models.remove()
    }
  },
  LONG_MS,
)
