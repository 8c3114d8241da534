/** @quiet Encoders need the CPU to keep up. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/testing'
import { isRunning } from '../fixtures/processes.js'
import { pngOf } from '../media-processor/fixtures/decode.js'
import type { PlainPublisher } from '../recordings/composed/fixtures/plain-publisher.js'
import { FilterTestbed } from './fixtures/filter-testbed.js'
import type { ForwardedViewer } from './fixtures/forwarded-viewer.js'

const RED = '300'
const BLUE = '003'
const WHITE = '333'
const GRAY_RED = '111'
const CORNER = [0.1, 0.2] as const
const REST = [0.9, 0.8] as const
const VIDEO = 'color=white:size=320x180:rate=25'
const TONE = 'sine=frequency=1000:sample_rate=48000'

let testbed: FilterTestbed
let red: string
let blue: string
beforeAll(async () => {
  ;[red, blue] = await Promise.all([pngOf('red'), pngOf('blue')])
})
beforeEach(async () => void (testbed = await FilterTestbed.open()))
afterEach(() => testbed.close())

const overlay = () => ({ image: red, x: 0, y: 0, width: 0.25, height: 0.5 })

async function filtered(): Promise<{ publisher: PlainPublisher; viewer: ForwardedViewer; filterId: string }> {
  const publisher = await testbed.publish({ video: VIDEO, audio: TONE })
  const viewer = await testbed.view(publisher.stream)
  await viewer.shows(`${WHITE} ${WHITE}`, CORNER, REST)
  const { filterId } = await testbed.apply(publisher.stream, 'ImageOverlayFilter', overlay())
  return { publisher, viewer, filterId }
}

const isGone = (pid: number): Promise<unknown> => until('the program has ended', () => !isRunning(pid))
const nothingIsLeft = async (): Promise<void> => {
  await until('no program is left', () => testbed.processors().every((pid) => !isRunning(pid)))
  const { videoFilters, audioFilters } = testbed.composition.stack.service.counts
  expect({ videoFilters, audioFilters }).toEqual({ videoFilters: 0, audioFilters: 0 })
}

describe('a filter of a video', () => {
  it('changes the picture that receivers get, also at run time, until it is removed', async () => {
    const { publisher, viewer, filterId } = await filtered()
    const { stream } = publisher
    const ref = { ...testbed.ref(stream), filterId }
    expect(viewer.replaced).toBe(1)
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
    await testbed.filters.execFilterMethod({ ...ref, method: 'setImage', params: { image: blue } })
    await viewer.shows(`${BLUE} ${WHITE}`, CORNER, REST)
    const [pid] = testbed.processors()
    expect(testbed.composition.room.units).toMatchObject({ videoFilters: 1, audioFilters: 0 })
    await testbed.filters.removeFilter(ref)
    expect(stream.forwardedTracks).toEqual(stream.tracks)
    await viewer.shows(`${WHITE} ${WHITE}`, CORNER, REST)
    await isGone(pid!)
    await nothingIsLeft()
    expect(testbed.reports).toEqual([])
    await expect(testbed.filters.removeFilter(ref)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('whose program is killed is reported once, and the published picture returns', async () => {
    const { publisher, viewer, filterId } = await filtered()
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
    const [pid] = testbed.processors()
    process.kill(pid!, 'SIGKILL')
    const [report] = await until('the end is reported', () => {
      const reports = testbed.reported('filterEnded')
      return reports.length > 0 && reports
    })
    // The published tracks are forwarded before the report.
    expect(publisher.stream.forwardedTracks).toEqual(publisher.stream.tracks)
    expect(viewer.replaced).toBe(2)
    expect(report).toEqual({
      kind: 'filterEnded',
      epoch: 1,
      filterId,
      ...testbed.ref(publisher.stream),
      reason: expect.stringContaining('SIGKILL'),
    })
    await viewer.shows(`${WHITE} ${WHITE}`, CORNER, REST)
    await nothingIsLeft()
    expect(testbed.reports).toHaveLength(1)
  })

  it('that was removed is not reported when its program is killed', async () => {
    testbed.filters.lingerMs = 60_000
    const { publisher, filterId } = await filtered()
    const [pid] = testbed.processors()
    await testbed.filters.removeFilter({ ...testbed.ref(publisher.stream), filterId })
    expect(isRunning(pid!)).toBe(true)
    process.kill(pid!, 'SIGKILL')
    await until('it is counted no more', () => testbed.composition.room.units.videoFilters === 0)
    expect(testbed.reports).toEqual([])
  })

  it('leaves the audio as it is published', async () => {
    const { publisher } = await filtered()
    const [audio, video] = publisher.stream.forwardedTracks
    expect(audio).toBe(publisher.stream.track('audio'))
    expect(video).not.toBe(publisher.stream.track('video'))
  })

  it('is muted and unmuted with the stream', async () => {
    const { publisher, viewer } = await filtered()
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
    const [, video] = publisher.stream.forwardedTracks
    await publisher.mute()
    expect(video?.paused).toBe(true)
    const { length } = viewer.packets.video
    await publisher.unmute()
    expect(video?.paused).toBe(false)
    await until('pictures arrive again', () => viewer.packets.video.length > length + 10)
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
  })

  it('is muted when the stream is muted while it starts', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    const applying = testbed.apply(publisher.stream, 'ImageOverlayFilter', overlay())
    await until('the program runs', () => testbed.processors().length > 0)
    await publisher.mute()
    await applying
    const [video] = publisher.stream.forwardedTracks
    expect(video).not.toBe(publisher.stream.track('video'))
    expect(video?.paused).toBe(true)
  })

  it('that is applied to a muted stream is in force from the unmute on', async () => {
    const publisher = await testbed.publish({ video: VIDEO, videoActive: false })
    const viewer = await testbed.view(publisher.stream)
    await testbed.apply(publisher.stream, 'ImageOverlayFilter', overlay())
    expect(viewer.replaced).toBe(1)
    await publisher.unmute()
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
  })

  it('ends with the stream', async () => {
    const { publisher } = await filtered()
    const [pid] = testbed.processors()
    await publisher.leave()
    await isGone(pid!)
    await nothingIsLeft()
    expect(testbed.reports).toEqual([])
  })

  it('ends with the room, also while it starts', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    const applying = testbed.apply(publisher.stream, 'ImageOverlayFilter', overlay())
    const failed = expect(applying).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await until('the program runs', () => testbed.processors().length > 0)
    await testbed.composition.stack.service.rooms.closeAll()
    await publisher.leave()
    await failed
    await nothingIsLeft()
    expect(testbed.reports).toEqual([])
  })

  it('replaces a former one without a moment of the published picture', async () => {
    const { publisher, viewer, filterId } = await filtered()
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
    await testbed.apply(publisher.stream, 'ImageOverlayFilter', { ...overlay(), image: blue })
    expect(viewer.replaced).toBe(2)
    await viewer.shows(`${BLUE} ${WHITE}`, CORNER, REST)
    const ref = testbed.ref(publisher.stream)
    await expect(testbed.filters.removeFilter({ ...ref, filterId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await until('one program is left', () => testbed.processors().length === 1)
  })

  it('is applied once by a repeated command', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    const filter = testbed.filter('ImageOverlayFilter', overlay())
    const call = { ...testbed.ref(publisher.stream), filter }
    await Promise.all([testbed.filters.applyFilter(call), testbed.filters.applyFilter(call)])
    await testbed.filters.applyFilter(call)
    expect(testbed.processors()).toHaveLength(1)
    expect(testbed.composition.room.units.videoFilters).toBe(1)
  })

  it('that is removed while it starts never comes into force', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    const filter = testbed.filter('ImageOverlayFilter', overlay())
    const applying = testbed.filters.applyFilter({ ...testbed.ref(publisher.stream), filter })
    const failed = expect(applying).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the program runs', () => testbed.processors().length > 0)
    await testbed.filters.removeFilter({ ...testbed.ref(publisher.stream), filterId: filter.filterId })
    await failed
    expect(publisher.stream.mediaRevision).toBe(0)
    await nothingIsLeft()
  })

  it('that sends nothing fails, and the published picture stays', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    await expect(testbed.apply(publisher.stream, 'GStreamerFilter', { command: 'blocked' })).rejects.toMatchObject({
      code: 'LAUNCH_FAILED',
    })
    expect(publisher.stream.mediaRevision).toBe(0)
    await nothingIsLeft()
  })

  it('may be a pipeline of the operator', async () => {
    const publisher = await testbed.publish({ video: 'color=red:size=320x180:rate=25' })
    const viewer = await testbed.view(publisher.stream)
    const { filterId } = await testbed.apply(publisher.stream, 'GStreamerFilter', { command: 'gray' })
    await viewer.shows(GRAY_RED, REST)
    const call = { ...testbed.ref(publisher.stream), filterId, method: 'setElementProperty' }
    const property = (name: string) => ({ element: 'balance', property: name, value: 1 })
    await expect(testbed.filters.execFilterMethod({ ...call, params: property('hue') })).rejects.toMatchObject({
      code: 'INVALID',
    })
    await testbed.filters.execFilterMethod({ ...call, params: property('saturation') })
    await viewer.shows(RED, REST)
  })
})

describe('a filter of audio', () => {
  it('changes the level, while the video stays as it is published', async () => {
    const publisher = await testbed.publish({ video: VIDEO, audio: TONE })
    const viewer = await testbed.view(publisher.stream)
    const before = await viewer.loudness()
    await testbed.apply(publisher.stream, 'AudioGainFilter', { gain: -20 })
    await until('the audio is 20 dB lower', async () => Math.abs((await viewer.loudness()) - before + 20) < 2)
    expect(publisher.stream.forwardedTracks[1]).toBe(publisher.stream.track('video'))
    expect(testbed.composition.room.units).toMatchObject({ videoFilters: 0, audioFilters: 1 })
  })

  it('reports the events of its elements', async () => {
    const publisher = await testbed.publish({ audio: TONE })
    const { filterId } = await testbed.apply(publisher.stream, 'GStreamerFilter', { command: 'meter' })
    const [report] = await until('an event is reported', () => {
      const reports = testbed.reported('filterEvent')
      return reports.length > 0 && reports
    })
    const { roomId, ...ref } = testbed.ref(publisher.stream)
    expect(report).toMatchObject({ roomId, epoch: 1, filterId, event: { ...ref, filterType: 'GStreamerFilter' } })
    expect(JSON.parse(report!.event.data)).toHaveProperty('rms')
  })
})

describe('a filter with which a stream is published', () => {
  it('starts in the background', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    const viewer = await testbed.view(publisher.stream)
    testbed.filters.begin(publisher.stream, testbed.filter('ImageOverlayFilter', overlay()))
    await viewer.shows(`${RED} ${WHITE}`, CORNER, REST)
  })

  it('that cannot start is reported', async () => {
    const publisher = await testbed.publish({ video: VIDEO })
    testbed.filters.begin(publisher.stream, testbed.filter('AudioGainFilter', { gain: 1 }))
    const [report] = await until('the end is reported', () => {
      const reports = testbed.reported('filterEnded')
      return reports.length > 0 && reports
    })
    expect(report).toMatchObject({ reason: expect.stringContaining('no audio') })
  })
})

describe('a filter is refused', () => {
  it('when the node has no capacity for another one', async () => {
    testbed.filters.cores = 1
    const { publisher } = await filtered()
    const other = await testbed.publish({ connectionId: 'other', video: VIDEO })
    await expect(testbed.apply(other.stream, 'ImageOverlayFilter', overlay())).rejects.toMatchObject({
      code: 'NO_CAPACITY',
    })
    expect(testbed.composition.room.units.videoFilters).toBe(1)
    expect(publisher.stream.mediaRevision).toBe(1)
  })

  it.each([
    ['another connection', { connectionId: 'other' }, 'NOT_FOUND'],
    ['an unknown stream', { streamId: 'other' }, 'NOT_FOUND'],
    ['an unknown room', { roomId: 'other' }, 'NOT_FOUND'],
  ])('for %s', async (_, change, code) => {
    const publisher = await testbed.publish({ video: VIDEO, isSilent: true })
    const call = {
      ...testbed.ref(publisher.stream),
      ...change,
      filter: testbed.filter('ImageOverlayFilter', overlay()),
    }
    await expect(testbed.filters.applyFilter(call)).rejects.toMatchObject({ code })
  })

  it('when the operator does not allow the pipeline', async () => {
    const publisher = await testbed.publish({ video: VIDEO, isSilent: true })
    const applying = testbed.apply(publisher.stream, 'GStreamerFilter', { command: 'unknown' })
    await expect(applying).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('command') })
    expect(testbed.composition.room.units.videoFilters).toBe(0)
  })
})
