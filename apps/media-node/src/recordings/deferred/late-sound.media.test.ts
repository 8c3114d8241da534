import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jobOf } from '../composed/fixtures/composition.js'
import { beepsOf, probe } from '../composed/fixtures/recorded.js'
import { rtpPackets } from '../fixtures/rtp-packets.js'
import { PACKETS_FILE } from '../recorder/deferred.js'
import { compose } from './compose.js'
import { TIMELINE_VERSION, TimelineWriter, type TimelineEntry } from './timeline.js'

const SECONDS = 8
const PACKET_MS = 20
const PAYLOAD_TYPE = 111
const FIRST_AT_MS = 200

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'sound-'))))
afterEach(() => rm(folder, { recursive: true }))

/** The packets of a tone without a break. */
const tone = (): Promise<Buffer[]> =>
  rtpPackets({
    words: [
      ...['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=48000:duration=${SECONDS}`],
      ...['-c:a', 'libopus', '-ac', '2'],
    ],
    payloadType: PAYLOAD_TYPE,
    atLeast: (SECONDS * 1_000) / PACKET_MS,
  })

/** An entry of the log of source 1. */
function entryOf(packet: Buffer, atMs: number): Buffer {
  const head = Buffer.alloc(16)
  head.writeUInt32LE(2 * 1 + 1, 0)
  head.writeUInt32LE(packet.length, 4)
  head.writeBigInt64LE(BigInt(atMs * 1_000), 8)
  return Buffer.concat([head, packet])
}

async function writeTimeline(entries: readonly TimelineEntry[]): Promise<void> {
  const timeline = await TimelineWriter.create(folder, (error) => expect(error).toBeUndefined())
  for (const entry of entries) timeline.write(entry)
  await timeline.close()
}

it.each([0, 10, 25, 35])('sound has no gaps when all packets but the first one are %d ms late', async (lateMs) => {
  const entries = (await tone()).map((packet, nth) =>
    entryOf(packet, FIRST_AT_MS + nth * PACKET_MS + (nth > 0 ? lateMs : 0)),
  )
  await writeFile(join(folder, PACKETS_FILE), Buffer.concat([Buffer.from('packets1'), ...entries]))
  const endsAt = FIRST_AT_MS + SECONDS * 1_000
  await writeTimeline([
    { event: 'began', at: 0, version: TIMELINE_VERSION, startedAt: 1_700_000_000_000 },
    { event: 'published', at: 0, source: 1, name: 'Ada', isScreen: false, isActive: false },
    { event: 'added', at: 0, source: 1, codec: 'VP8', video: -1, audio: PAYLOAD_TYPE },
    { event: 'ended', at: endsAt },
  ])
  const job = jobOf({ hasVideo: false, deferred: true })
  const [file] = await compose({ job, folder, signal: AbortSignal.timeout(60_000) })
  const path = join(folder, file!.name)
  expect((await probe(path)).duration).toBeCloseTo(endsAt / 1_000, 0)
  const beeps = await beepsOf(path)
  expect(beeps).toEqual([expect.closeTo(FIRST_AT_MS / 1_000, 1)])
})
