import { afterEach, expect, it } from '@jest/globals'
import type { MediaKind } from '@session-service/contract'
import { budgetMs, until } from '@session-service/testing'
import { decode, loudnessOf } from './fixtures/decode.js'
import { picturesOf } from './fixtures/encoded.js'
import { processorProgram } from './fixtures/processing.js'
import { RtpSink, timestampOf } from './fixtures/rtp-sink.js'
import { RtpSource } from './fixtures/rtp-source.js'
import { MediaProcessor, type ProcessorFilter, type ProcessorLeg } from './media-processor.js'

const CODECS = { audio: 'opus', video: 'H264' } as const
const PICTURE = 'testsrc2=size=320x180:rate=15'
const TONE = 'sine=frequency=1000:sample_rate=48000'

interface Leg {
  source: RtpSource
  sink: RtpSink
}

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function openSink(kind: MediaKind): Promise<RtpSink> {
  const sink = await RtpSink.open(kind === 'video' ? 90_000 : 48_000)
  closers.push(() => sink.close())
  return sink
}

const legTo = (kind: MediaKind, sink: RtpSink, ssrc: number): ProcessorLeg => ({
  input: RtpSource.input(kind, kind === 'video' ? 'VP8' : 'opus'),
  output: {
    codec: CODECS[kind],
    port: sink.port,
    sourcePort: 0,
    ssrc,
    payloadType: 96,
    firstSequence: 0,
    maxKbps: kind === 'video' ? 1_000 : 64,
  },
})

const LISTENER = {
  onMedia: () => undefined,
  onSequence: () => undefined,
  onFilterEvent: () => undefined,
  onKeyFrameWanted: () => undefined,
}

/** One program with a leg of each kind, and their sources and sinks. */
async function openBoth(filter?: ProcessorFilter): Promise<Record<MediaKind, Leg> & { processor: MediaProcessor }> {
  const sinks = { audio: await openSink('audio'), video: await openSink('video') }
  const legs = [legTo('video', sinks.video, 1), legTo('audio', sinks.audio, 2)]
  const processor = await MediaProcessor.open(processorProgram(), legs, filter, LISTENER)
  closers.push(() => processor.stop())
  const openLeg = async (kind: MediaKind): Promise<Leg> => {
    const source = await RtpSource.open(kind, processor.ports[kind]?.rtp ?? 0)
    closers.push(() => source.stop())
    return { source, sink: sinks[kind] }
  }
  const both = { audio: await openLeg('audio'), video: await openLeg('video'), processor }
  await both.video.source.play({ codec: 'VP8', media: PICTURE })
  await both.audio.source.play({ codec: 'opus', media: TONE })
  return both
}

const picturesAt = ({ sink }: Leg): number => picturesOf('H264', sink.packets).length

it('a media processor decodes and encodes audio and video of a stream, by one clock', async () => {
  const { audio, video } = await openBoth()
  await until('media arrives', () => picturesAt(video) > 20 && audio.sink.packets.length > 60)
  expect((await decode('H264', video.sink.packets))[0]).toEqual({ width: 320, height: 180, isKey: true })
  expect(await loudnessOf(audio.sink.packets)).toBeGreaterThan(-30)
  for (const { sink } of [audio, video]) expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
  for (const [{ sink }, ssrc] of [[video, 1] as const, [audio, 2] as const])
    for (const packet of sink.packets) expect(packet.readUInt32BE(8)).toBe(ssrc)
})

it.each<[MediaKind, MediaKind]>([
  ['audio', 'video'],
  ['video', 'audio'],
])('the %s of a media processor continues while its %s pauses, and both agree afterwards', async (kind, paused) => {
  const both = await openBoth()
  await until('media arrives', () => picturesAt(both.video) > 5 && both.audio.sink.packets.length > 20)
  both[paused].source.isMuted = true
  const pausedAt = timestampOf(both[kind].sink.packets.at(-1))
  const clockRate = kind === 'video' ? 90_000 : 48_000
  await until(
    'the other kind continues for 1.5 s',
    () => timestampOf(both[kind].sink.packets.at(-1)) - pausedAt > 1.5 * clockRate,
  )
  both[paused].source.isMuted = false
  const before = both[paused].sink.packets.length
  await until('it continues', () => both[paused].sink.packets.length > before + 10)
  for (const { sink } of [both.audio, both.video])
    expect(Math.abs(sink.delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(300))
  await decode('H264', both.video.sink.packets)
})

it('a filter of a media processor with two legs changes the leg of its kind alone', async () => {
  const both = await openBoth({ type: 'AudioGainFilter', options: { gain: -60 } })
  const { audio, video, processor } = both
  await until('media arrives', () => picturesAt(video) > 5 && audio.sink.packets.length > 60)
  expect(await loudnessOf(audio.sink.packets.slice(-50))).toBeLessThan(-60)
  await processor.execFilterMethod('setGain', { gain: 0 })
  processor.limitVideo({ maxKbps: 1_000, maxPixels: 160 * 90 })
  await until('the sound is loud', async () => (await loudnessOf(audio.sink.packets.slice(-50))) > -30)
  await until('the picture is small', async () => {
    const { width, height } = (await decode('H264', video.sink.packets)).at(-1) ?? {}
    return width === 160 && height === 90
  })
})

it('a media processor has at most one leg of each kind', async () => {
  const [first, second] = [await openSink('video'), await openSink('video')]
  const legs = [legTo('video', first, 1), legTo('video', second, 2)]
  const open = MediaProcessor.open(processorProgram(), legs, undefined, LISTENER)
  await expect(open).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
