import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { RoomEvent } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { Bus } from '@session-service/messaging'
import { NodeRig } from '../fixtures/node-rig.js'
import { Fence } from '../node/fence.js'
import { RoomEvents } from './room-events.js'

const rig = NodeRig.forTests()
let bus: Bus
let fence: Fence
let events: RoomEvents
beforeAll(async () => {
  bus = await Bus.connect({ servers: rig.nats.url, name: 'node' })
})
beforeEach(() => {
  rig.master.roomEvents.length = 0
  fence = new Fence()
  events = new RoomEvents(fence, bus)
})
afterAll(() => bus.close())

const layers = (spatialLayer: number, streamId = 'str', epoch = 1): RoomEvent => ({
  kind: 'layersChanged',
  epoch,
  connectionId: 'con',
  streamId,
  layers: { spatialLayer, temporalLayer: 0 },
})

const streamOf = (event: RoomEvent): string => ('streamId' in event ? event.streamId : '')

it('events of rooms are published at once', async () => {
  events.publish('room', layers(1))
  await until('it is heard', () => rig.master.roomEvents.length === 1)
  expect(rig.master.roomEvents).toEqual([layers(1)])
})

it('while the node is fenced the latest event of each kind is held, and published later for rooms of the same epoch', async () => {
  fence.shut()
  events.publish('kept', layers(0))
  events.publish('kept', layers(2))
  events.publish('gone', layers(0, 'of a room that went'))
  events.publish('reopened', layers(0, 'of its former epoch', 1))
  fence.open(fence.shutCount)
  events.publishHeld((roomId) =>
    new Map([
      ['kept', 1],
      ['reopened', 2],
    ]).get(roomId),
  )
  events.publish('kept', layers(1, 'last'))
  await until('the last one is heard', () => rig.master.roomEvents.some((event) => streamOf(event) === 'last'))
  expect(rig.master.roomEvents).toEqual([layers(2), layers(1, 'last')])
})

it('A20: an event that cannot be published does not keep back the events after it', async () => {
  fence.shut()
  // The bus throws when a message does not match its schema.
  events.publish('room', layers(0, 'no id'))
  events.publish('room', layers(1, 'waiting'))
  fence.open(fence.shutCount)
  events.publishHeld(() => 1)
  events.publish('room', layers(0, 'no id either'))
  events.publish('room', layers(1, 'last'))
  await until('the last one is heard', () => rig.master.roomEvents.some((event) => streamOf(event) === 'last'))
  expect(rig.master.roomEvents.map(streamOf)).toEqual(['waiting', 'last'])
})
