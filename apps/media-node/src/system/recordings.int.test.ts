import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { RecordingEnded } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { metricOf, metricsOf, NodeRig } from '../fixtures/node-rig.js'
import { makeClip } from '../recordings/fixtures/camera.js'
import { deliveryTo, jobOf } from '../recordings/fixtures/jobs.js'
import { Receiver } from '../recordings/fixtures/receiver.js'

const rig = NodeRig.forTests()
let folder: string
let clip: string
let env: Record<string, string>
beforeAll(async () => {
  const clips = await mkdtemp(join(tmpdir(), 'clips-'))
  clip = await makeClip(clips)
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recordings-'))
  env = { MEDIA_NODE_RECORDING_PATH: join(folder, 'jobs'), MEDIA_NODE_RECORDING_SLOTS: '3' }
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})
afterAll(async () => {
  await rm(join(clip, '..'), { recursive: true, force: true })
})

const delivered = (): string => join(folder, 'delivered')
const jobsLeft = (): Promise<string[]> => readdir(join(folder, 'jobs')).catch(() => [])
const endsOf = (nodeId: string): RecordingEnded[] =>
  rig.master.factsOf(nodeId, 'recordingEnded').map(({ ended }) => ended)
const reportedEndOf = (nodeId: string): Promise<RecordingEnded> => until('the end is reported', () => endsOf(nodeId)[0])

describe('a recording', () => {
  it('starts once for repeated commands, is listed in heartbeats, and ends with a report', async () => {
    const { node, nodeId } = await rig.launchReady(env)
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    const [first, again] = await Promise.all([1, 2].map(() => rig.master.ask(nodeId, 'startRecording', job)))
    expect(again).toEqual(first)
    const running = { recordingId: job.recordingId, part: 1, state: 'recording' }
    // An earlier heartbeat lists it as starting.
    const beat = await until('a heartbeat lists the job', () => {
      const heard = rig.master.lastHeartbeatOf(nodeId)
      return heard?.jobs[0]?.state === 'recording' && heard
    })
    expect(beat).toMatchObject({ jobs: [running], slots: { recording: { used: 1, total: 3 } } })
    expect((await rig.master.ask(nodeId, 'inventory', {})).jobs).toEqual([running])
    expect(await metricsOf(node)).toMatch(/^session_service_recordings_running 1$/m)
    await rig.master.ask(nodeId, 'stopRecording', job)
    expect(await reportedEndOf(nodeId)).toEqual({ recordingId: job.recordingId, part: 1, files: [] })
    await until('nothing is left of it', async () => (await jobsLeft()).length === 0)
    await expect(rig.master.ask(nodeId, 'stopRecording', job)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const metrics = await metricsOf(node)
    expect(metrics).toMatch(/^session_service_recordings_ended_total\{result="stopped"\} 1$/m)
    expect(metrics).toMatch(/^session_service_recordings_ended_total\{result="drained"\} 0$/m)
  })

  it('is rejected without its room, for another epoch, and when all slots are in use', async () => {
    const { nodeId } = await rig.launchReady(env)
    const delivery = await deliveryTo(delivered())
    const start = (more = {}) => rig.master.ask(nodeId, 'startRecording', jobOf('room', delivery, more))
    await expect(start()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await rig.master.join(nodeId, 'room', 'con')
    await expect(start({ epoch: 2 })).rejects.toMatchObject({ code: 'CONFLICT' })
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => start()))
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    expect(refused).toHaveLength(17)
    for (const reason of refused) expect(reason).toMatchObject({ code: 'NO_CAPACITY' })
  })

  it('is rejected with the reason when its folder is not writable, and the node remains usable', async () => {
    await writeFile(join(folder, 'file'), '')
    const { nodeId } = await rig.launchReady({ ...env, MEDIA_NODE_RECORDING_PATH: join(folder, 'file', 'jobs') })
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    await expect(rig.master.ask(nodeId, 'startRecording', job)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the media node cannot write recordings to MEDIA_NODE_RECORDING_PATH: ENOTDIR',
    })
    await until('it has no slot', () => rig.master.lastHeartbeatOf(nodeId)?.slots?.recording?.total === 0)
  })

  it('is rejected when less than the minimum disk space is free', async () => {
    const { nodeId } = await rig.launchReady({ ...env, MEDIA_NODE_RECORDING_MIN_FREE: '1000000000' })
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    await expect(rig.master.ask(nodeId, 'startRecording', job)).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: expect.stringContaining('not enough disk'),
    })
    expect(await jobsLeft()).toEqual([])
  })

  it('that is started and stopped many times leaves nothing behind', async () => {
    const { nodeId } = await rig.launchReady(env)
    await rig.master.join(nodeId, 'room', 'con')
    const delivery = await deliveryTo(delivered())
    for (let cycle = 0; cycle < 50; cycle++) {
      const job = jobOf('room', delivery)
      await rig.master.ask(nodeId, 'startRecording', job)
      await rig.master.ask(nodeId, 'stopRecording', job)
      await until('its end is reported', () => endsOf(nodeId).length > cycle)
    }
    await until('nothing is left', async () => (await jobsLeft()).length === 0)
    await until('no slot is taken', () => rig.master.lastHeartbeatOf(nodeId)?.slots?.recording?.used === 0)
  })
})

describe('the shutdown of a node', () => {
  it('gracefully ends and reports its recordings before it deregisters', async () => {
    const { node, nodeId } = await rig.launchReady(env)
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    await rig.master.ask(nodeId, 'startRecording', job)
    await copyFile(clip, join(folder, 'jobs', `${job.recordingId}.1`, 'str_A.webm'))
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    const kinds = rig.master.facts.filter((fact) => fact.nodeId === nodeId).map(({ kind }) => kind)
    expect(kinds).toEqual(['hello', 'recordingEnded', 'goodbye'])
    expect(await jobsLeft()).toEqual([])
  })

  it('waits for the delivery of a recording until the deadline', async () => {
    const { node, nodeId } = await rig.launchReady({ ...env, MEDIA_NODE_DRAIN_TIMEOUT: '1' })
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    await rig.master.ask(nodeId, 'startRecording', job)
    rig.master.onFact = ({ kind }) => {
      if (kind === 'recordingEnded') throw new Error('the database is away')
      return { dropRoomIds: [] }
    }
    await rig.master.ask(nodeId, 'stopRecording', job)
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
    node.kill('SIGTERM')
    await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'draining')
    expect(rig.master.lastHeartbeatOf(nodeId)?.jobs).toEqual([
      { recordingId: job.recordingId, part: 1, state: 'delivering' },
    ])
    expect(await node.exited).toBe(0)
    // No master has acknowledged the report: the next node repeats it.
    expect(await jobsLeft()).toEqual([`${job.recordingId}.1`])
    rig.master.onFact = () => ({ dropRoomIds: [] })
    const next = await rig.launchReady(env)
    expect(await reportedEndOf(next.nodeId)).toMatchObject({ recordingId: job.recordingId, files: [] })
  })

  it('moves the sessions at its deadline, and then goes on with the upload of a recording', async () => {
    const receiver = await Receiver.start()
    const upload = Promise.withResolvers<boolean>()
    receiver.interfere = ({ method }) => method === 'PUT' && upload.promise
    try {
      const elsewhere = { ...(await deliveryTo(delivered(), receiver.url)), folder: join(folder, 'not here') }
      const former = await rig.launchReady(env)
      await rig.master.join(former.nodeId, 'former', 'con')
      const slow = jobOf('former', elsewhere)
      await rig.master.ask(former.nodeId, 'startRecording', slow)
      await copyFile(clip, join(folder, 'jobs', `${slow.recordingId}.1`, 'str_A.webm'))
      former.node.kill('SIGKILL')
      await former.node.exited
      const { node, nodeId } = await rig.launchReady({ ...env, MEDIA_NODE_RECORDING_FINISH_TIMEOUT: '60' })
      await until('the upload begins', () => receiver.requests.some((request) => request.startsWith('PUT')))
      await rig.master.join(nodeId, 'room', 'con')
      const running = jobOf('room', await deliveryTo(delivered()))
      await rig.master.ask(nodeId, 'startRecording', running)
      node.kill('SIGTERM')
      await until('the sessions move', () => rig.master.factsOf(nodeId, 'roomsLost').length > 0)
      await until('the other recording is reported', () => endsOf(nodeId).length > 0)
      const heard = rig.master.heartbeats.length
      const beat = await until('the next heartbeat', () =>
        rig.master.heartbeats.slice(heard).find((each) => each.nodeId === nodeId),
      )
      const jobs = [{ recordingId: slow.recordingId, part: 1, state: 'delivering' }]
      expect(beat).toMatchObject({ status: 'draining', rooms: 0, jobs })
      expect(beat.drainDeadline).toBeGreaterThan(beat.sentAt + 30_000)
      expect(await metricOf(node, 'drain_remaining_seconds')).toBeGreaterThan(30)
      await expect(rig.master.join(nodeId, 'new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
      upload.resolve(false)
      expect(await node.exited).toBe(0)
      expect(endsOf(nodeId)).toMatchObject([
        { recordingId: running.recordingId, failure: 'the media node shuts down' },
        { recordingId: slow.recordingId, files: [{ name: 'str_A.webm' }] },
      ])
      expect(rig.master.factsOf(nodeId, 'roomsLost')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
      expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
      expect(Buffer.concat([...receiver.bytes.values()])).toEqual(await readFile(clip))
      expect(await jobsLeft()).toEqual([])
    } finally {
      upload.resolve(false)
      await receiver.stop()
    }
  })

  it('by force: the next node salvages its recordings, but not those of a living node', async () => {
    const [dying, living] = await Promise.all([rig.launchReady(env), rig.launchReady(env)])
    const start = async (nodeId: string) => {
      await rig.master.join(nodeId, 'room', 'con')
      const job = jobOf('room', await deliveryTo(delivered()))
      await rig.master.ask(nodeId, 'startRecording', job)
      await copyFile(clip, join(folder, 'jobs', `${job.recordingId}.1`, 'str_A.webm'))
      return job
    }
    const lost = await start(dying.nodeId)
    const kept = await start(living.nodeId)
    dying.node.kill('SIGKILL')
    await dying.node.exited
    const next = await rig.launchReady(env)
    const ended = await reportedEndOf(next.nodeId)
    expect(ended).toMatchObject({
      recordingId: lost.recordingId,
      part: 1,
      failure: 'the media node died while it recorded',
      files: [{ name: 'str_A.webm', hasAudio: true, hasVideo: true }],
    })
    expect(await readFile(join(delivered(), 'str_A.webm'))).toEqual(await readFile(clip))
    await until('nothing is left of it', async () => (await jobsLeft()).join() === `${kept.recordingId}.1`)
    expect(endsOf(next.nodeId)).toHaveLength(1)
  })

  it('by force during a claim, and an unreadable or missing journal, lose no recording', async () => {
    const { node, nodeId } = await rig.launchReady(env)
    await rig.master.join(nodeId, 'room', 'con')
    const job = jobOf('room', await deliveryTo(delivered()))
    await rig.master.ask(nodeId, 'startRecording', job)
    node.kill('SIGKILL')
    await node.exited
    const own = join(folder, 'jobs', `${job.recordingId}.1`)
    await copyFile(join(own, 'job.json'), join(own, 'job.claimed.json'))
    await rm(join(own, 'job.json'))
    await mkdir(join(folder, 'jobs', 'broken.1'))
    await writeFile(join(folder, 'jobs', 'broken.1', 'job.json'), '{"owner":')
    const empty = join(folder, 'jobs', 'empty.1')
    await mkdir(empty)
    await utimes(empty, 1, 1)
    const next = await rig.launchReady(env)
    expect(await reportedEndOf(next.nodeId)).toMatchObject({ recordingId: job.recordingId })
    await until('nothing is left of it', async () => (await jobsLeft()).join() === 'broken.1')
  })
})
