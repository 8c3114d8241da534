import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { makeSparseClip, RtspServer, until } from '@session-service/testing'
import { nalTypes, payloadOf, pictures, sequenceOf, timestampOf, timestampsAfter, Viewer } from './fixtures/viewer.js'

/** One lane. */
const LAYERS = 4
const LANE = 1
const KEY_FRAME_SECONDS = 8
/** Types of H.264 units. */
const SPS = 7
const DELIMITER = 9
const FILLER = 12
const TICKS_PER_MS = 90

let folder: string
let sparse: RtspServer
let viewer: Viewer | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'camera-'))
  const file = await makeSparseClip(folder, { seconds: KEY_FRAME_SECONDS, kbps: 1_000 })
  sparse = await RtspServer.start({ clips: { clip: { file, kinds: ['video'] } } })
})

afterEach(async () => {
  await viewer?.stop()
  sparse.fault = undefined
})

afterAll(async () => {
  await sparse.stop()
  await rm(folder, { recursive: true })
})

function open(): Viewer {
  viewer = new Viewer({ uri: sparse.url('clip'), layers: LAYERS })
  return viewer
}

/** Lanes without a receiver have packets that keep them alive. */
const hasPicture = (packet: Buffer): boolean => packet.length > 12 && !nalTypes(packet).includes(FILLER)

describe('the program that reads a camera', () => {
  it('sends the pictures since the last key frame as a burst, and then the live ones', async () => {
    const from = open()
    const live = await from.media('video')
    const lane = live.layers[LANE] ?? []
    await until('a second has passed since the key frame', () => pictures(live.packets).length > 20)
    expect(lane.filter(hasPicture)).toEqual([])
    const [keptFrom, before] = [lane.length, timestampOf(live.packets.at(-1))]
    from.program.burst(0, LANE)
    const burst = await from.until('burst')
    const liveUntil = live.packets.length
    await until('live pictures follow', () => live.packets.length > liveUntil + 20)
    from.program.rest(0, LANE)
    const sent = lane.slice(keptFrom).filter(hasPicture)
    expect(nalTypes(sent[0]!)).toContain(SPS)
    const copied = live.packets
      .filter((packet) => hasPicture(packet) && nalTypes(packet).join() !== String(DELIMITER))
      .slice(0, sent.length)
    expect(sent.map(payloadOf)).toEqual(copied.map(payloadOf))
    expect(sent.map((packet) => (sequenceOf(packet) - sequenceOf(sent[0])) & 0xffff)).toEqual([...sent.keys()])
    const times = pictures(sent)
    expect(timestampsAfter(times[0]!, before)).toBeGreaterThanOrEqual(0)
    const distances = times.slice(1).map((time, at) => timestampsAfter(time, times[at]!))
    expect(Math.min(...distances)).toBeGreaterThan(0)
    // The pictures of a second in much less time.
    expect(burst.pictures).toBeGreaterThan(15)
    expect(Math.max(...distances.slice(0, 10))).toBeLessThan(20 * TICKS_PER_MS)
    expect(timestampOf(sent.at(-1))).toBe(timestampOf(copied.at(-1)))
  })

  it('does not go back on a lane, also after a burst while the camera was late', async () => {
    const from = open()
    const live = await from.media('video')
    const lane = live.layers[LANE] ?? []
    const last = (): Buffer => lane.at(-1) ?? Buffer.alloc(0)
    await until('pictures are kept', () => pictures(live.packets).length > 5)
    sparse.fault = 'sends nothing'
    await until('the camera is late', () => !hasPicture(last()) && timestampOf(last()) === timestampOf(lane.at(-2)))
    const late = lane.length
    const burst = async (): Promise<void> => {
      const { length } = from.all('burst')
      from.program.burst(0, LANE)
      await until('the burst ends', () => from.all('burst').length > length)
      await until('its pictures have arrived', () => hasPicture(last()))
      from.program.rest(0, LANE)
    }
    await burst()
    await until('a packet keeps the lane alive', () => !hasPicture(last()))
    await burst()
    const sent = lane.slice(late)
    const steps = sent.slice(1).map((packet, at) => timestampsAfter(timestampOf(packet), timestampOf(sent[at])))
    expect(steps.filter((step) => step < 0)).toEqual([])
  })
})
