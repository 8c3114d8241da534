import { describe, expect, it } from '@jest/globals'
import { NODE_BOOT_RPC, ServiceError, SUBJECT } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { NodeRig, workersOf } from '../fixtures/node-rig.js'

const rig = NodeRig.forTests()

describe('reports', () => {
  it('the registration comes first and again after a bus outage, and closes the rooms that the answer drops', async () => {
    const { nodeId } = await rig.launchReady()
    await until('the first registration', () => rig.master.factsOf(nodeId, 'hello').length === 1)
    expect(rig.master.factsOf(nodeId, 'hello')[0]).toMatchObject({ ip: '127.0.0.1', rooms: [] })
    await rig.master.join(nodeId, 'kept', 'con')
    await rig.master.join(nodeId, 'stray', 'con')
    rig.master.onFact = () => ({ dropRoomIds: ['stray'] })
    await rig.restartBus()
    const again = await until('the registration after the outage', () => rig.master.factsOf(nodeId, 'hello')[1])
    expect(again.rooms.map(({ roomId }) => roomId).toSorted()).toEqual(['kept', 'stray'])
    await until('the stray room is dropped', async () => {
      const { rooms } = await rig.master.ask(nodeId, 'inventory', {})
      return rooms.length === 1 && rooms[0]?.roomId === 'kept'
    })
    expect(rig.master.factsOf(nodeId, 'hello')).toHaveLength(2)
  })

  it('a process whose registration is refused exits with a non-zero code and has served nothing', async () => {
    rig.master.onFact = () => ({ dropRoomIds: [], refused: 'another process is alive with the id' })
    const { node, nodeId } = await rig.launch()
    expect(await node.exited).toBe(1)
    const fatal = node.lastLines.filter((line) => line.includes('"level":"fatal"'))
    expect(fatal).toEqual([expect.stringContaining('MEDIA_NODE_ID: another process is alive with the id')])
    expect(rig.master.lastHeartbeatOf(nodeId)).toBeUndefined()
  })

  it('a process does not answer commands before a master has registered it, and reports that it is alive', async () => {
    let mayAnswer = false
    rig.master.onFact = () => {
      if (!mayAnswer) throw new ServiceError('UNAVAILABLE', 'the holder of the id may be alive')
      return { dropRoomIds: [] }
    }
    const { node, nodeId } = await rig.launch()
    const hello = await until('a registration', () => rig.master.deliveriesOf(nodeId, 'hello')[0])
    await rig.master.bus.request(SUBJECT.nodeBoot(nodeId, hello.bootId), NODE_BOOT_RPC, {})
    await expect(rig.master.ask(nodeId, 'inventory', {})).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
    expect((await fetch(`${node.opsUrl}/readyz`)).status).toBe(503)
    mayAnswer = true
    await node.ready
    expect((await rig.master.ask(nodeId, 'inventory', {})).bootId).toBe(hello.bootId)
  })

  it('a process that waits for its registration shuts down gracefully at SIGTERM', async () => {
    rig.master.onFact = () => {
      throw new ServiceError('UNAVAILABLE', 'the holder of the id may be alive')
    }
    const { node, nodeId } = await rig.launch()
    await until('a registration', () => rig.master.deliveriesOf(nodeId, 'hello')[0])
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
  })

  it('a running process that is refused closes its rooms and exits with a non-zero code', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    const { bootId } = rig.master.factsOf(nodeId, 'hello')[0]!
    rig.master.onFact = ({ kind }) => ({
      dropRoomIds: [],
      ...(kind === 'hello' && { refused: 'another one is alive' }),
    })
    await rig.master.bus.request(SUBJECT.nodeBoot(nodeId, bootId), NODE_BOOT_RPC, { register: true })
    expect(await node.exited).toBe(1)
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  it('rooms lost with their worker are reported under one id and repeated until acknowledged', async () => {
    const { node, nodeId } = await rig.launchReady()
    for (const roomId of ['a', 'b', 'c', 'd']) await rig.master.join(nodeId, roomId, 'con')
    const deaf = new ServiceError('UNAVAILABLE', 'the database is away')
    rig.master.onFact = () => {
      if (rig.master.deliveriesOf(nodeId, 'roomsLost').length < 3) throw deaf
      return { dropRoomIds: [] }
    }
    process.kill(workersOf(node)[0]!, 'SIGKILL')
    await until('the third report', () => rig.master.deliveriesOf(nodeId, 'roomsLost').length === 3)
    const { rooms } = await rig.master.ask(nodeId, 'inventory', {})
    const deliveries = rig.master.deliveriesOf(nodeId, 'roomsLost')
    expect(new Set(deliveries.map(({ factId }) => factId)).size).toBe(1)
    expect(deliveries[0]!.rooms).toHaveLength(2)
    expect([...deliveries[0]!.rooms, ...rooms].map(({ roomId }) => roomId).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    await until('the worker is back', () => workersOf(node).length === 2)
    await until('a heartbeat counts it', () => rig.master.lastHeartbeatOf(nodeId)?.workers === 2)
    expect(rig.master.deliveriesOf(nodeId, 'roomsLost')).toHaveLength(3)
    expect(node.running).toBe(true)
  })
})
