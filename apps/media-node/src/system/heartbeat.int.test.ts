import { describe, expect, it } from '@jest/globals'
import { costOf, EXPECTED_SESSION, HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { freePorts, until } from '@session-service/local-stack'
import { NodeRig, workersOf } from '../fixtures/node-rig.js'

const rig = NodeRig.forTests()

describe('a heartbeat of a node', () => {
  it('contains its identity', async () => {
    const [port = 0] = await freePorts(1)
    const before = Date.now()
    const { nodeId } = await rig.launchReady({
      MEDIA_NODE_RTC_PORT: String(port),
      MEDIA_NODE_WORKERS: '1',
      MEDIA_NODE_ENVIRONMENT_ID: 'i-0abc',
      MEDIA_NODE_JOIN: 'false',
    })
    const heard = rig.master.lastHeartbeatOf(nodeId)!
    expect(heard).toMatchObject({
      ip: '127.0.0.1',
      uri: `ws://127.0.0.1:${port}/mediaserver`,
      environmentId: 'i-0abc',
      joins: false,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      status: 'running',
      drainDeadline: null,
      committed: 0,
      roomsOpened: 0,
    })
    // Process time and start time differ by rounding.
    expect(heard.launchedAt).toBeGreaterThanOrEqual(before - 10)
    expect(heard.launchedAt).toBeLessThanOrEqual(heard.sentAt)
  })

  it('contains the cluster time, whatever the clock of the machine shows', async () => {
    const aheadMs = 3_600_000
    rig.master.clock = () => Date.now() + aheadMs
    const { nodeId } = await rig.launchReady()
    const by = (): number => (rig.master.lastHeartbeatOf(nodeId)?.sentAt ?? 0) - Date.now()
    await until('its heartbeats have that time', () => Math.abs(by() - aheadMs) < 5_000)
    const { launchedAt = 0, sentAt = 0 } = rig.master.lastHeartbeatOf(nodeId) ?? {}
    expect(sentAt - launchedAt).toBeGreaterThan(0)
    expect(sentAt - launchedAt).toBeLessThan(60_000)
    rig.master.clock = () => Date.now()
  })

  it('contains the commitment and the number of rooms opened since the start', async () => {
    const { nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'a', 'one')
    await rig.master.join(nodeId, 'a', 'two')
    await rig.master.join(nodeId, 'b', 'three')
    const full = await until('a heartbeat counts them', () =>
      rig.master.lastHeartbeatOf(nodeId)?.connections === 3 ? rig.master.lastHeartbeatOf(nodeId) : undefined,
    )
    expect(full).toMatchObject({ roomsOpened: 2, rooms: 2 })
    // Two young rooms: more participants are expected to join.
    const least = costOf({ rooms: 2, connections: 3, transports: 6 })
    expect(full.committed).toBeGreaterThan(least)
    expect(full.committed).toBeLessThanOrEqual(2 * costOf(EXPECTED_SESSION))
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'a', epoch: 1 })
    await rig.master.join(nodeId, 'a', 'one')
    await until('it counts a room that was opened again', () => rig.master.lastHeartbeatOf(nodeId)?.roomsOpened === 3)
    expect(rig.master.lastHeartbeatOf(nodeId)?.rooms).toBe(2)
  })

  it('follows rarely while the node rests, and often again with a command and with work', async () => {
    const { nodeId } = await rig.launchReady({ MEDIA_NODE_REST_AFTER: '1' })
    const last = () => rig.master.lastHeartbeatOf(nodeId)
    const comes = (everyMs: number, rooms = 0): Promise<unknown> =>
      until(`heartbeats come each ${everyMs} ms`, () => last()?.everyMs === everyMs && last()?.rooms === rooms)
    await comes(RESTING_INTERVAL_MS)
    await rig.master.ask(nodeId, 'inventory', {})
    await rig.master.ask(nodeId, 'describe', {})
    expect(last()?.everyMs).toBe(RESTING_INTERVAL_MS)
    await rig.master.ask(nodeId, 'wake', {})
    await comes(HEARTBEAT_INTERVAL_MS)
    await comes(RESTING_INTERVAL_MS)
    await rig.master.join(nodeId, 'a', 'one')
    await comes(HEARTBEAT_INTERVAL_MS, 1)
    const { sentAt = 0 } = last() ?? {}
    await until('it has had a room for long', () => (last()?.sentAt ?? 0) - sentAt > 2_000)
    expect(last()?.everyMs).toBe(HEARTBEAT_INTERVAL_MS)
  })

  it('is complemented by the description of the media server on request', async () => {
    const { node, nodeId } = await rig.launchReady()
    const { sendTransport } = await rig.master.join(nodeId, 'room', 'con')
    const info = await rig.master.ask(nodeId, 'describe', {})
    expect(info.workers.map(({ pid }) => pid).toSorted()).toEqual(workersOf(node).toSorted())
    expect(info.workers.reduce((sum, { rooms }) => sum + rooms, 0)).toBe(1)
    expect(info.workers.find(({ rooms }) => rooms === 1)?.port).toBe(
      sendTransport.iceCandidates.find(({ protocol }) => protocol === 'udp')?.port,
    )
    expect(info.memory).toBeGreaterThan(info.workers.reduce((sum, { memory }) => sum + memory, 0))
    expect(info.version).toBe(rig.master.lastHeartbeatOf(nodeId)?.version)
    expect(info.codecs).toEqual(['audio/opus', 'video/VP8', 'video/VP9', 'video/H264'])
    expect(info.modules.map(({ name }) => name)).toEqual(['mediasoup', 'mediasoup-worker'])
    for (const { version, generationTime } of info.modules) {
      expect(version).toMatch(/^\d+\.\d+\.\d+/)
      expect(new Date(generationTime).toISOString()).toBe(generationTime)
    }
    const slots = { used: 0, total: expect.any(Number) }
    expect(info.slots).toEqual({ recording: slots, speechToText: slots })
  })
})
