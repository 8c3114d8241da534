import { describe, expect, it } from '@jest/globals'
import { ServiceError, SUBJECT } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { z } from 'zod'
import { metricsOf, NodeRig } from '../fixtures/node-rig.js'
import { audioTrack, publication, simulcastTrack } from '../rooms/fixtures/samples.js'

const rig = NodeRig.forTests()

describe('commands over the bus', () => {
  it('run a whole session, and heartbeats report its size', async () => {
    const { nodeId } = await rig.launchReady()
    const { routerRtpCapabilities: rtpCapabilities } = await rig.master.join(nodeId, 'room', 'pub')
    await rig.master.join(nodeId, 'room', 'sub')
    await rig.master.ask(nodeId, 'publish', publication('room', 'pub', 'str', [audioTrack(), simulcastTrack()]))
    const sub = { roomId: 'room', connectionId: 'sub', streamId: 'str' }
    const { tracks } = await rig.master.ask(nodeId, 'subscribe', { ...sub, rtpCapabilities })
    expect(tracks.map(({ kind }) => kind)).toEqual(['audio', 'video'])
    await until('a heartbeat counts both consumers', () => rig.master.lastHeartbeatOf(nodeId)?.consumers === 2)
    expect(rig.master.lastHeartbeatOf(nodeId)).toMatchObject({
      ip: '127.0.0.1',
      status: 'running',
      workers: 2,
      rooms: 1,
      connections: 2,
      streams: 1,
    })
    await rig.master.ask(nodeId, 'changeStream', { ...sub, connectionId: 'pub', videoActive: false })
    await rig.master.ask(nodeId, 'unsubscribe', sub)
    await rig.master.ask(nodeId, 'unpublish', { ...sub, connectionId: 'pub' })
    await rig.master.ask(nodeId, 'leave', sub)
    const inventory = await rig.master.ask(nodeId, 'inventory', {})
    expect(inventory).toEqual({
      bootId: rig.master.lastHeartbeatOf(nodeId)?.bootId,
      rooms: [{ roomId: 'room', epoch: 1, connectionIds: ['pub'], streamIds: [] }],
      jobs: [],
      transcriptions: [],
    })
    await rig.master.ask(nodeId, 'closeRoom', { roomId: 'room', epoch: 1 })
    await until('a heartbeat counts no room', () => rig.master.lastHeartbeatOf(nodeId)?.rooms === 0)
  })

  it('that fail return a code, a subject and a message that names the fault', async () => {
    const { nodeId } = await rig.launchReady()
    const gone = { roomId: 'no', connectionId: 'no', streamId: 'no' }
    const failed = await rig.master.ask(nodeId, 'unpublish', gone).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(ServiceError)
    expect(failed).toMatchObject({ code: 'NOT_FOUND', subject: 'connection' })
    // Bypasses the schemas of the sender to send commands that violate the contract.
    const unchecked = [z.any(), z.any(), 4_000] as const
    const junk = [null, [], 'x', { ...gone, roomId: '../x' }, { ...gone, connectionId: 7 }, {}]
    for (const params of junk) {
      const answer = rig.master.bus.request(SUBJECT.nodeCommand(nodeId, 'join'), unchecked, params)
      await expect(answer).rejects.toMatchObject({ code: 'INVALID' })
    }
    await rig.master.join(nodeId, 'room', 'con')
  })

  it('are counted and measured by name', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    await rig.master
      .ask(nodeId, 'unpublish', { roomId: 'room', connectionId: 'con', streamId: 'no' })
      .catch(() => undefined)
    const text = await metricsOf(node)
    const count = (command: string, outcome: string): string =>
      `session_service_node_command_duration_seconds_count{command="${command}",outcome="${outcome}"} 1`
    expect(text).toContain(count('join', 'OK'))
    expect(text).toContain(count('unpublish', 'NOT_FOUND'))
    expect(text).toContain('session_service_media_rooms 1')
  })
})
