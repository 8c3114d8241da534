import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import type { RecordingEnded } from '@session-service/contract'
import { startNats, until, type LocalNats } from '@session-service/local-stack'
import { Bus, ReportSender } from '@session-service/messaging'
import { BusMaster } from '../fixtures/bus-master.js'
import { childrenOf } from '../fixtures/processes.js'
import { Rhythm } from '../node/rhythm.js'
import { MediaStack } from '../rooms/fixtures/media-stack.js'
import { Camera, makeClip } from './fixtures/camera.js'
import { deliveryTo, jobOf } from './fixtures/jobs.js'
import { probe } from './fixtures/probe.js'
import { RecordingsService } from './recordings.service.js'

let nats: LocalNats
let master: BusMaster
let bus: Bus
let stack: MediaStack
let folder: string
let clip: string
let service: RecordingsService
let facts: ReportSender
let nodes = 0
let camera: Camera

beforeAll(async () => {
  nats = await startNats()
  master = await BusMaster.connect(nats.url)
  bus = await Bus.connect({ servers: nats.url, name: 'node' })
  stack = await MediaStack.start()
  folder = await mkdtemp(join(tmpdir(), 'jobs-'))
  clip = await makeClip(folder)
})
beforeEach(async () => {
  nodes += 1
  await stack.join(roomId(), 'someone')
  camera = await Camera.publish(stack, stack.service.rooms.get(roomId()), 'str_A', { clip })
  begin({})
})
afterEach(async () => {
  await service.finishAll(5_000)
  service.onModuleDestroy()
  facts.close()
  await camera.close()
})
afterAll(async () => {
  await stack.stop()
  await bus.close()
  await master.bus.close()
  await nats.stop()
  await rm(folder, { recursive: true, force: true })
})

const roomId = (): string => `room${nodes}`
const nodeId = (): string => `node${nodes}`
const jobs = (): string => join(folder, `jobs${nodes}`)
const delivered = (): string => join(folder, `delivered${nodes}`)
const deliveredFiles = async (): Promise<string[]> =>
  (await readdir(delivered())).filter((name) => !name.startsWith('.')).toSorted()
const endOf = ({ recordingId }: { recordingId: string }): Promise<RecordingEnded> =>
  until('the end is reported', () =>
    master
      .factsOf(nodeId(), 'recordingEnded')
      .map(({ ended }) => ended)
      .find((ended) => ended.recordingId === recordingId),
  )

function begin(env: Record<string, string>): void {
  const config = loadNodeConfig({ NATS_URL: nats.url, MEDIA_NODE_RECORDING_PATH: jobs(), ...env })
  facts = new ReportSender(bus, { nodeId: nodeId(), bootId: 'boot' })
  service = new RecordingsService(config, stack.service, facts, new Rhythm(Infinity))
  service.start()
}

it('the files are delivered before the end is reported', async () => {
  const job = jobOf(roomId(), await deliveryTo(delivered()))
  await service.startRecording(job)
  await pause(2_000)
  await service.stopRecording(job)
  const { files, failure } = await endOf(job)
  expect(failure).toBeUndefined()
  expect(files).toMatchObject([{ name: 'str_A.webm', streamId: 'str_A', hasAudio: true, hasVideo: true }])
  expect(await deliveredFiles()).toEqual(['str_A.webm'])
  expect((await probe(join(delivered(), 'str_A.webm'))).duration).toBeGreaterThan(1.5)
  await until('nothing is left', async () => (await readdir(jobs())).length === 0)
})

it('a killed recorder ends its part with the reason and its files', async () => {
  const before = childrenOf(process.pid)
  const job = jobOf(roomId(), await deliveryTo(delivered()))
  await service.startRecording(job)
  await pause(2_500)
  for (const pid of childrenOf(process.pid).filter((child) => !before.includes(child))) process.kill(pid, 'SIGKILL')
  const { files, failure } = await endOf(job)
  expect(failure).toBe('the recording of stream str_A: ffmpeg was ended by SIGKILL')
  expect(files).toHaveLength(1)
  expect((await probe(join(delivered(), 'str_A.webm'))).duration).toBeGreaterThan(1)
})

it('the loss of the room ends the part with the reason and its files', async () => {
  const job = jobOf(roomId(), await deliveryTo(delivered()))
  await service.startRecording(job)
  await pause(1_500)
  await stack.service.closeRoom({ roomId: roomId(), epoch: 1 })
  const { files, failure } = await endOf(job)
  expect(failure).toBe('the session left the media node')
  expect(files).toHaveLength(1)
})

it('a failed start returns the reason and leaves nothing behind', async () => {
  await camera.silence()
  const before = childrenOf(process.pid)
  const job = jobOf(roomId(), await deliveryTo(delivered()))
  const started = service.startRecording(job)
  expect(service.slots.used).toBe(1)
  await expect(started).rejects.toMatchObject({ message: 'no media arrived from stream str_A' })
  await until('nothing is left', async () => (await readdir(jobs())).length === 0 && service.slots.used === 0)
  expect(childrenOf(process.pid).filter((child) => !before.includes(child))).toEqual([])
  expect(master.factsOf(nodeId(), 'recordingEnded')).toEqual([])
})

it('recordings are stopped one at a time while the disk is full', async () => {
  const all = [1, 2].map(async () => jobOf(roomId(), await deliveryTo(delivered())))
  const [first, second] = await Promise.all(all)
  for (const job of [first!, second!]) await service.startRecording(job)
  await pause(1_000)
  service.minFreeMib = Number.MAX_SAFE_INTEGER
  const ends = [await endOf(second!), await endOf(first!)]
  expect(ends.map(({ failure }) => failure)).toEqual(
    Array(2).fill('not enough disk: the disk of the media node is nearly full'),
  )
  expect(ends.map(({ files }) => files.length)).toEqual([1, 1])
  const order = master.factsOf(nodeId(), 'recordingEnded').map(({ ended }) => ended.recordingId)
  expect(order).toEqual([second!.recordingId, first!.recordingId])
})
