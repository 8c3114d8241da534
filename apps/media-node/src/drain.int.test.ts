import { describe, expect, test } from '@jest/globals'
import { startNats, until } from '@session-service/local-stack'
import { BusMaster } from './fixtures/bus-master.js'
import { failingOf, metricOf, NodeRig, workersOf } from './fixtures/node-rig.js'
import { isRunning } from './fixtures/processes.js'

const rig = NodeRig.forTests()

const A_DAY = { MEDIA_NODE_DRAIN_TIMEOUT: '86400' }
const MANY_MINUTES_MS = 3_600_000

describe('a busy node that is told to end by SIGTERM', () => {
  test('takes no new room, keeps those it has, and ends with the last one', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    for (const roomId of ['a', 'b']) await rig.master.join(nodeId, roomId, 'con')
    const workers = workersOf(node)
    node.kill('SIGTERM')
    const draining = await until('a heartbeat says so', () =>
      rig.master.heardOf(nodeId)?.status === 'draining' ? rig.master.heardOf(nodeId) : undefined,
    )
    expect(draining.drainDeadline).toBeGreaterThan(draining.sentAt + MANY_MINUTES_MS)
    expect(draining).toMatchObject({ rooms: 2 })
    await expect(rig.master.join(nodeId, 'new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    // Whoever comes to a room that is there is let in.
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
    await until('one room is left', () => rig.master.heardOf(nodeId)?.rooms === 1)
    expect(node.running).toBe(true)
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'b', epoch: 1 })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    expect(workers.filter(isRunning)).toEqual([])
  })

  test('A14: ends at the deadline with what it still holds', async () => {
    const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_DRAIN_TIMEOUT: '1' })
    await rig.master.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('A15: ends at once and in order at a second signal, %s', async (signal) => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    const workers = workersOf(node)
    node.kill('SIGTERM')
    await until('it drains', () => rig.master.heardOf(nodeId)?.status === 'draining')
    node.kill(signal)
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
    expect(workers.filter(isRunning)).toEqual([])
  })

  test('does not come back', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    await until('it drains', () => rig.master.heardOf(nodeId)?.status === 'draining')
    await expect(rig.master.ask(nodeId, 'undrain', {})).rejects.toMatchObject({ code: 'CONFLICT' })
    await rig.master.ask(nodeId, 'drain', { deadlineMs: 0 })
    expect(await node.exited).toBe(0)
  })

  test('minds no loss of the bus', async () => {
    const bus = await startNats()
    const ownMaster = await BusMaster.connect(bus.url)
    const { node, nodeId } = await rig.launchReady({ ...A_DAY, NATS_URL: bus.url }, ownMaster)
    await ownMaster.join(nodeId, 'room', 'con')
    node.kill('SIGTERM')
    await until('it drains', () => ownMaster.heardOf(nodeId)?.status === 'draining')
    bus.process.kill('SIGKILL')
    await bus.process.exited
    const again = await startNats({ port: bus.port })
    try {
      const heard = ownMaster.heartbeats.length
      await until('it is heard again', () => ownMaster.heartbeats.length > heard)
      expect(ownMaster.heardOf(nodeId)).toMatchObject({ status: 'draining', rooms: 1 })
      await ownMaster.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
      expect(await node.exited).toBe(0)
      expect(ownMaster.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    } finally {
      await ownMaster.bus.close()
      await again.stop()
    }
  })
})

describe('a hook on the same machine', () => {
  test('drains a node before the signal comes', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    expect((await fetch(`${node.opsUrl}/drain`)).status).toBe(405)
    expect((await fetch(`${node.opsUrl}/drain`, { method: 'POST' })).status).toBe(202)
    await until('it drains', () => rig.master.heardOf(nodeId)?.drainDeadline)
    expect(await failingOf(node)).toEqual(['draining'])
    // The first signal only makes it final.
    node.kill('SIGTERM')
    await until('there is no way back', async () => {
      await expect(rig.master.ask(nodeId, 'undrain', {})).rejects.toMatchObject({ code: 'CONFLICT' })
      return true
    })
    expect(node.running).toBe(true)
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
    expect(await node.exited).toBe(0)
  })
})

describe('a master', () => {
  test('drains a node, and takes that back', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    await rig.master.ask(nodeId, 'drain', { deadlineMs: null })
    await until('it drains', () => rig.master.heardOf(nodeId)?.status === 'draining')
    expect(rig.master.heardOf(nodeId)?.drainDeadline).toBeNull()
    expect(await metricOf(node, 'drain_remaining_seconds')).toBe(Number.POSITIVE_INFINITY)
    await expect(rig.master.join(nodeId, 'new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    await rig.master.ask(nodeId, 'undrain', {})
    await until('it runs again', () => rig.master.heardOf(nodeId)?.status === 'running')
    expect(await failingOf(node)).toEqual([])
    await rig.master.join(nodeId, 'new', 'con')
    expect(await metricOf(node, 'draining')).toBe(0)
  })

  test('may set another deadline', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    await rig.master.ask(nodeId, 'drain', { deadlineMs: MANY_MINUTES_MS })
    await until('it drains', () => rig.master.heardOf(nodeId)?.drainDeadline)
    await rig.master.ask(nodeId, 'drain', { deadlineMs: 10 })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  test('has an empty node end at once by draining it', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.ask(nodeId, 'drain', { deadlineMs: null })
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [] }])
    const lastHeard = rig.master.heardOf(nodeId)
    expect(lastHeard?.status).toBe('draining')
  })

  test('terminates a busy node at once and in order', async () => {
    const { node, nodeId } = await rig.launchReady(A_DAY)
    await rig.master.join(nodeId, 'room', 'con')
    const workers = workersOf(node)
    await rig.master.ask(nodeId, 'terminate', {})
    expect(await node.exited).toBe(0)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
    expect(workers.filter(isRunning)).toEqual([])
  })
})
