import { describe, expect, test } from '@jest/globals'
import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { NodeRig, workersOf } from './fixtures/node-rig.js'

const rig = NodeRig.forTests()

describe('facts', () => {
  test('a hello comes first, again after a lost bus, and drops the rooms that its answer names', async () => {
    const { nodeId } = await rig.launchReady()
    await until('the first hello', () => rig.master.factsOf(nodeId, 'hello').length === 1)
    expect(rig.master.factsOf(nodeId, 'hello')[0]).toMatchObject({ ip: '127.0.0.1', rooms: [] })
    await rig.master.join(nodeId, 'kept', 'con')
    await rig.master.join(nodeId, 'stray', 'con')
    rig.master.onFact = () => ({ dropRoomIds: ['stray'] })
    await rig.restartBus()
    const again = await until('the hello after the loss', () => rig.master.factsOf(nodeId, 'hello')[1])
    expect(again.rooms.map(({ roomId }) => roomId).toSorted()).toEqual(['kept', 'stray'])
    await until('the stray room is dropped', async () => {
      const { rooms } = await rig.master.ask(nodeId, 'inventory', {})
      return rooms.length === 1 && rooms[0]?.roomId === 'kept'
    })
    expect(rig.master.factsOf(nodeId, 'hello')).toHaveLength(2)
  })

  test('rooms lost with their worker are told once, and repeated until heard', async () => {
    const { node, nodeId } = await rig.launchReady()
    for (const roomId of ['a', 'b', 'c', 'd']) await rig.master.join(nodeId, roomId, 'con')
    const deaf = new ServiceError('UNAVAILABLE', 'the database is away')
    rig.master.onFact = () => {
      if (rig.master.tellingsOf(nodeId, 'roomsLost').length < 3) throw deaf
      return { dropRoomIds: [] }
    }
    process.kill(workersOf(node)[0]!, 'SIGKILL')
    await until('the third telling', () => rig.master.tellingsOf(nodeId, 'roomsLost').length === 3)
    const { rooms } = await rig.master.ask(nodeId, 'inventory', {})
    const tellings = rig.master.tellingsOf(nodeId, 'roomsLost')
    expect(new Set(tellings.map(({ factId }) => factId)).size).toBe(1)
    expect(tellings[0]!.rooms).toHaveLength(2)
    expect([...tellings[0]!.rooms, ...rooms].map(({ roomId }) => roomId).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    await until('the worker is back', () => workersOf(node).length === 2)
    await until('heartbeats tell of it', () => rig.master.heardOf(nodeId)?.workers === 2)
    expect(rig.master.tellingsOf(nodeId, 'roomsLost')).toHaveLength(3)
    expect(node.running).toBe(true)
  })
})
