import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { makeCameraClip, memoryOf, RtspServer, until } from '@session-service/testing'
import { typeOf, unitsOf } from './fixtures/units.js'
import { Viewer } from './fixtures/viewer.js'

const HEADER = 12
/** The slices of each picture. */
const SLICES = 4
const PICTURES = 30
/** Types of H.264 units. */
const IDR = 5
const SPS = 7
const PPS = 8
/** First bytes of a key frame in fragments (FU-A): of its first packet, and of those in its midst. */
const BEGIN = [0x7c, 0x85]
const MIDST = [0x7c, 0x05]
/** A larger picture is given up. */
const LARGEST = 8 * 1024 * 1024
/** Each picture has units in several packets. */
const PICTURE = 'testsrc2=size=320x180:rate=15,noise=alls=20:allf=t'

let folder: string
let camera: RtspServer
let viewer: Viewer | undefined
/** The payloads of the camera's packets. */
let sent: Buffer[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pictures-'))
  const file = await makeCameraClip(folder, { video: 'h264-slices', picture: PICTURE })
  camera = await RtspServer.start({ clips: { clip: { file, kinds: ['video'] } } })
})

afterEach(async () => {
  await viewer?.stop()
})

afterAll(async () => {
  await camera.stop()
  await rm(folder, { recursive: true })
})

const isSlice = (unit: Buffer): boolean => typeOf(unit) >= 1 && typeOf(unit) <= IDR
const digestOf = (unit: Buffer): string => createHash('sha256').update(unit).digest('hex')
const isMarked = (packet: Buffer): boolean => ((packet[1] ?? 0) & 0x80) !== 0

function withMark(packet: Buffer, mark: boolean): Buffer {
  const copy = Buffer.from(packet)
  copy[1] = ((copy[1] ?? 0) & 0x7f) | (mark ? 0x80 : 0)
  return copy
}

/** An extension of one word, and four bytes at the end. */
function withExtension(packet: Buffer): Buffer {
  const copy = Buffer.from(packet)
  copy[0] = (copy[0] ?? 0) | 0x30
  const extension = Buffer.from([0xbe, 0xde, 0, 1, 0x10, 1, 0, 0])
  return Buffer.concat([copy.subarray(0, HEADER), extension, copy.subarray(HEADER), Buffer.from([0, 0, 0, 4])])
}

/** The packets of the pictures, without those of the first and the last one. */
async function receivePictures(transport: 'tcp' | 'udp' = 'tcp'): Promise<Buffer[][]> {
  viewer = new Viewer({ uri: camera.url('clip'), transport })
  const { packets } = await viewer.media('video')
  const pictures = (): Map<number, Buffer[]> => Map.groupBy(packets, (packet) => packet.readUInt32BE(4))
  await until('the pictures arrive', () => pictures().size > PICTURES)
  return [...pictures().values()].slice(1, -1)
}

const unitsOfPicture = (packets: readonly Buffer[]): Buffer[] => unitsOf(packets.map((each) => each.subarray(HEADER)))

/** The slices that arrived are those of the camera, in its order and without a gap. */
function expectSlicesOfCamera(pictures: readonly Buffer[][]): void {
  const slices = (units: readonly Buffer[]): string[] => units.filter(isSlice).map(digestOf)
  const received = slices(pictures.flatMap(unitsOfPicture))
  const all = slices(unitsOf(sent))
  const begin = all.indexOf(received[0] ?? '')
  expect(begin).toBeGreaterThanOrEqual(0)
  expect(received).toEqual(all.slice(begin, begin + received.length))
}

describe('the pictures of a copied camera', () => {
  it.each<[string, (packet: Buffer) => Buffer]>([
    ['of packets as most cameras send them', (packet) => packet],
    ['of packets that are all marked as the end of a picture', (packet) => withMark(packet, true)],
    ['of packets without a mark', (packet) => withMark(packet, false)],
    ['of packets with header extensions and padding', withExtension],
  ])('are complete, %s', async (_, rewrite) => {
    sent = []
    camera.rewrite = (packet) => {
      sent.push(packet.subarray(HEADER))
      return rewrite(packet)
    }
    const pictures = await receivePictures()
    expectSlicesOfCamera(pictures)
    for (const packets of pictures) {
      const units = unitsOfPicture(packets)
      expect(units.filter(isSlice)).toHaveLength(SLICES)
      expect(packets.map(isMarked)).toEqual(packets.map((__, at) => at === packets.length - 1))
      const isKey = units.some((unit) => typeOf(unit) === IDR)
      expect(units.slice(0, 2).map(typeOf).join() === `${SPS},${PPS}`).toBe(isKey)
    }
    expect(pictures.flat().every((packet) => packet.length <= 1_200)).toBe(true)
  })

  it.each(['tcp', 'udp'] as const)('have whole units only when packets are lost over %s', async (transport) => {
    sent = []
    let count = 0
    camera.rewrite = (packet) => {
      sent.push(packet.subarray(HEADER))
      return ++count % 67 === 0 ? undefined : packet
    }
    const pictures = await receivePictures(transport)
    const known = new Set(unitsOf(sent).map(digestOf))
    const slices = pictures.flatMap(unitsOfPicture).filter(isSlice)
    expect(slices.length).toBeGreaterThan(PICTURES)
    expect(slices.map(digestOf).filter((slice) => !known.has(slice))).toEqual([])
  })

  it('that never end are given up within a bounded memory', async () => {
    camera.rewrite = (packet) => packet
    viewer = new Viewer({ uri: camera.url('clip'), timeoutMs: 60_000 })
    const { packets } = await viewer.media('video')
    const memory = (): number => memoryOf(viewer?.program.pid ?? 0)
    const before = memory()
    const timestamp = packets.at(-1)!.subarray(4, 8)
    let bytes = 0
    camera.rewrite = (packet) => {
      const header = Buffer.concat([packet.subarray(0, 4), timestamp, packet.subarray(8, HEADER)])
      const fragment = Buffer.concat([header, Buffer.from(bytes === 0 ? BEGIN : MIDST), Buffer.alloc(60_000)])
      bytes += fragment.length
      return fragment
    }
    let peak = 0
    await until('the camera sends many times the largest picture', () => {
      peak = Math.max(peak, memory())
      return bytes > 8 * LARGEST
    })
    const { length } = packets
    camera.rewrite = (packet) => packet
    await until('the next pictures arrive', () => packets.length > length + PICTURES)
    expect(Math.max(peak, memory()) - before).toBeLessThan(4 * LARGEST)
  })
})
