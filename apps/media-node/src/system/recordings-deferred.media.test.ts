import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { RecordingEnded, RecordingJob } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { NodeRig } from '../fixtures/node-rig.js'
import { probe } from '../recordings/fixtures/probe.js'
import { deliveryTo, jobOf } from '../recordings/fixtures/jobs.js'

const rig = NodeRig.forTests()
let folder: string
let env: Record<string, string>
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deferred-'))
  await writeFile(program(), SCRIPT(gate(), process.env.COMPOSITOR_BIN ?? ''), { mode: 0o755 })
  env = { MEDIA_NODE_RECORDING_PATH: join(folder, 'jobs'), COMPOSITOR_BIN: program() }
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const delivered = (): string => join(folder, 'delivered')
const program = (): string => join(folder, 'compositor')
/** No composition begins while this file exists. */
const gate = (): string => join(folder, 'gate')
const SCRIPT = (held: string, compositor: string): string =>
  `#!/bin/sh\nwhile [ "$1" = --idle ] && [ -e '${held}' ]; do sleep 0.05; done\nexec '${compositor}' "$@"\n`

const jobsLeft = (): Promise<string[]> => readdir(join(folder, 'jobs')).catch(() => [])
const reportedEndOf = (nodeId: string): Promise<RecordingEnded> =>
  until('the end is reported', () => rig.master.factsOf(nodeId, 'recordingEnded')[0]?.ended, 30_000)
const statesOf = (nodeId: string): string[] => rig.master.lastHeartbeatOf(nodeId)?.jobs.map(({ state }) => state) ?? []

/** Records an empty room for more than a second: the recorder notes each second. */
async function record(nodeId: string): Promise<RecordingJob> {
  await rig.master.join(nodeId, 'room', 'con')
  const output = {
    kind: 'COMPOSED',
    layout: 'BEST_FIT',
    width: 160,
    height: 90,
    frameRate: 25,
    deferred: true,
  } as const
  const job = jobOf('room', await deliveryTo(delivered()), { output })
  const { startedAt } = await rig.master.ask(nodeId, 'startRecording', job)
  // Masters store whole milliseconds.
  expect(startedAt).toBe(Math.round(startedAt))
  const log = join(folder, 'jobs', `${job.recordingId}.1`, 'packets.log')
  const { size } = await stat(log)
  await until('two seconds are recorded', async () => (await stat(log)).size >= size + 32)
  return job
}

async function expectDelivered(ended: RecordingEnded, failure?: string): Promise<void> {
  expect(ended.failure).toBe(failure)
  expect(ended.files).toMatchObject([{ name: 'composed.mp4', hasAudio: true, hasVideo: true }])
  const { duration, codecs } = await probe(join(delivered(), 'composed.mp4'))
  expect(codecs).toEqual(['aac', 'h264'])
  expect(duration).toBeGreaterThan(1)
  const [file] = ended.files
  expect(Math.abs(duration - (file!.endedAt - file!.startedAt) / 1_000)).toBeLessThan(0.1)
  await until('nothing is left', async () => (await jobsLeft()).length === 0)
}

it('a node that is killed while it records leaves what its successor composes', async () => {
  const { node, nodeId } = await rig.launchReady(env)
  await record(nodeId)
  node.kill('SIGKILL')
  await node.exited
  const next = await rig.launchReady(env)
  await expectDelivered(await reportedEndOf(next.nodeId), 'the media node died while it recorded')
})

it('a node that is killed while it composes leaves what its successor composes', async () => {
  const { node, nodeId } = await rig.launchReady(env)
  const job = await record(nodeId)
  await writeFile(gate(), '')
  await rig.master.ask(nodeId, 'stopRecording', job)
  await until('it composes', () => statesOf(nodeId).join() === 'composing')
  expect(rig.master.lastHeartbeatOf(nodeId)?.slots?.recording?.used).toBe(0)
  node.kill('SIGKILL')
  await node.exited
  await rm(gate())
  const next = await rig.launchReady(env)
  await expectDelivered(await reportedEndOf(next.nodeId))
})

it('a node that drains composes before it ends', async () => {
  const { node, nodeId } = await rig.launchReady(env)
  const job = await record(nodeId)
  await writeFile(gate(), '')
  await rig.master.ask(nodeId, 'stopRecording', job)
  await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
  node.kill('SIGTERM')
  await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'draining')
  // The answer to the stop precedes the end of the recorder.
  await until('it composes', () => statesOf(nodeId).join() === 'composing')
  await rm(gate())
  await expectDelivered(await reportedEndOf(nodeId))
  expect(await node.exited).toBe(0)
})

it('a node whose drain reaches its deadline leaves the composition to its successor', async () => {
  const { node, nodeId } = await rig.launchReady({ ...env, MEDIA_NODE_DRAIN_TIMEOUT: '1' })
  const job = await record(nodeId)
  await writeFile(gate(), '')
  await rig.master.ask(nodeId, 'stopRecording', job)
  await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
  node.kill('SIGTERM')
  expect(await node.exited).toBe(0)
  expect(rig.master.factsOf(nodeId, 'recordingEnded')).toEqual([])
  await rm(gate())
  const next = await rig.launchReady(env)
  await expectDelivered(await reportedEndOf(next.nodeId))
})
