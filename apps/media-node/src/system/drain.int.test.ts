import { describe, expect, it } from '@jest/globals'
import { startNats, until } from '@session-service/local-stack'
import { BusMaster } from '../fixtures/bus-master.js'
import { failingOf, metricOf, NodeRig, workersOf } from '../fixtures/node-rig.js'
import { isRunning } from '../fixtures/processes.js'

const rig = NodeRig.forTests()

const A_DAY = { MEDIA_NODE_DRAIN_TIMEOUT: '86400' }
const MANY_MINUTES_MS = 3_600_000

describe('a busy node that receives SIGTERM', () => {
  it('accepts no new room, keeps its rooms, and exits after the last one has closed', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    for (const roomId of ['a', 'b']) await rig.master.join(nodeId, roomId, 'con')
    const workers = workersOf(node)
    node.kill('SIGTERM')
    const draining = await until('a heartbeat reports draining', () =>
      rig.master.lastHeartbeatOf(nodeId)?.status === 'draining' ? rig.master.lastHeartbeatOf(nodeId) : undefined,
    )
    expect(draining.drainDeadline).toBeGreaterThan(draining.sentAt + MANY_MINUTES_MS)
    expect(draining).toMatchObject({ rooms: 2 })
    await expect(rig.master.join(nodeId, 'new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    // Joins of existing rooms are still accepted.
    await rig.master.join(nodeId, 'a', 'another')
    await rig.master.ask(nodeId, 'leave', { roomId: 'a', connectionId: 'con' })
    expect(await failingOf(node)).toEqual(['draining'])
    expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
    expect(await metricOf(node, 'draining')).toBe(1)
    expect(await metricOf(node, 'media_rooms')).toBe(2)
    const secondsLeft = await metricOf(node, 'drain_remaining_seconds')
    expect(secondsLeft).toBeGreaterThan(MANY_MINUTES_MS / 1_000)
    expect(secondsLeft).toBeLessThanOrEqual(86_400)

    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'a', epoch: 1 })
    await until('one room is left', () => rig.master.lastHeartbeatOf(nodeId)?.rooms === 1)
    expect(node.running).toBe(true)
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'b', epoch: 1 })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    expect(workers.filter(isRunning)).toEqual([])
  })

  it('exits at the deadline and reports its remaining rooms', async () => {
    const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_DRAIN_TIMEOUT: '1' })
    await rig.master.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'shuts down gracefully and at once at a second signal, %s',
    async (signal) => {
      const { node, nodeId } = await rig.launchReady(A_DAY)
      await rig.master.join(nodeId, 'room', 'con')
      const workers = workersOf(node)
      node.kill('SIGTERM')
      await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'draining')
      node.kill(signal)
      expect(await node.exited).toBe(0)
      expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
      expect(workers.filter(isRunning)).toEqual([])
    },
  )

  it('cannot be undrained', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'draining')
    await expect(rig.master.ask(nodeId, 'undrain', {})).rejects.toMatchObject({ code: 'CONFLICT' })
    await rig.master.ask(nodeId, 'drain', { deadlineMs: 0 })
    expect(await node.exited).toBe(0)
  })

  it('keeps draining during a bus outage', async () => {
    const bus = await startNats()
    const ownMaster = await BusMaster.connect(bus.url)
    const { node, nodeId } = await rig.launchReady({ ...A_DAY, NATS_URL: bus.url }, ownMaster)
    await ownMaster.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    await until('it drains', () => ownMaster.lastHeartbeatOf(nodeId)?.status === 'draining')
    bus.process.kill('SIGKILL')
    await bus.process.exited
    const again = await startNats({ port: bus.port })
    try {
      const heard = ownMaster.heartbeats.length
      await until('the next heartbeat', () => ownMaster.heartbeats.length > heard)
      expect(ownMaster.lastHeartbeatOf(nodeId)).toMatchObject({ status: 'draining', rooms: 1 })
      await ownMaster.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
      expect(await node.exited).toBe(0)
      expect(ownMaster.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    } finally {
      await ownMaster.bus.close()
      await again.stop()
    }
  })
})

describe('a preStop hook', () => {
  it('drains a node before the signal', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    expect((await fetch(`${node.opsUrl}/drain`)).status).toBe(405)
    expect((await fetch(`${node.opsUrl}/drain`, { method: 'POST' })).status).toBe(202)
    await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.drainDeadline)
    expect(await failingOf(node)).toEqual(['draining'])
    // The first signal makes the drain final.
    node.kill('SIGTERM')
    await until('undrain is rejected', async () => {
      await expect(rig.master.ask(nodeId, 'undrain', {})).rejects.toMatchObject({ code: 'CONFLICT' })
      return true
    })
    expect(node.running).toBe(true)
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
    expect(await node.exited).toBe(0)
  })
})

describe('a master', () => {
  it('drains and undrains a node', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    await rig.master.ask(nodeId, 'drain', { deadlineMs: null })
    await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'draining')
    expect(rig.master.lastHeartbeatOf(nodeId)?.drainDeadline).toBeNull()
    expect(await metricOf(node, 'drain_remaining_seconds')).toBe(Number.POSITIVE_INFINITY)
    await expect(rig.master.join(nodeId, 'new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    await rig.master.ask(nodeId, 'undrain', {})
    await until('it runs again', () => rig.master.lastHeartbeatOf(nodeId)?.status === 'running')
    expect(await failingOf(node)).toEqual([])
    await rig.master.join(nodeId, 'new', 'con')
    expect(await metricOf(node, 'draining')).toBe(0)
  })

  it('can change the drain deadline', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    await rig.master.ask(nodeId, 'drain', { deadlineMs: MANY_MINUTES_MS })
    await until('it drains', () => rig.master.lastHeartbeatOf(nodeId)?.drainDeadline)
    await rig.master.ask(nodeId, 'drain', { deadlineMs: 10 })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  it('ends an empty node at once by draining it', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.ask(nodeId, 'drain', { deadlineMs: null })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    const lastHeard = rig.master.lastHeartbeatOf(nodeId)
    expect(lastHeard?.status).toBe('draining')
  })

  it('terminates a busy node at once and gracefully', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    const workers = workersOf(node)
    await rig.master.ask(nodeId, 'terminate', {})
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
    expect(workers.filter(isRunning)).toEqual([])
  })
})
