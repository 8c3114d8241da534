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

const sentence = (reason: 'recognizing' | 'recognized', text: string, epoch = 1): RoomEvent => {
  const message = { connectionId: 'con', streamId: text, lang: 'en-US', text, reason, raw: '{}', timestamp: 0 }
  return { kind: 'speechToText', epoch, to: ['sub'], message }
}
const disconnected: RoomEvent = {
  ...{ kind: 'speechToTextDisconnected', epoch: 1, to: ['sub'] },
  ...{ connectionId: 'con', lang: 'en-US', message: 'failed' },
}

it('while the node is fenced sentences and failures of speech to text are held in their order, unfinished ones are not', async () => {
  fence.shut()
  events.publish('room', sentence('recognizing', 'one'))
  events.publish('room', sentence('recognized', 'one'))
  events.publish('room', disconnected)
  events.publish('room', sentence('recognized', 'two'))
  events.publish('gone', sentence('recognized', 'of a room that went'))
  fence.open(fence.shutCount)
  events.publishHeld((roomId) => (roomId === 'room' ? 1 : undefined))
  events.publishHeld(() => 1)
  events.publish('room', sentence('recognizing', 'three'))
  await until('the last one is heard', () => rig.master.roomEvents.length >= 4)
  expect(rig.master.roomEvents).toEqual([
    sentence('recognized', 'one'),
    disconnected,
    sentence('recognized', 'two'),
    sentence('recognizing', 'three'),
  ])
})

it('of held sentences the oldest are dropped', async () => {
  fence.shut()
  for (let at = 0; at <= 1_000; at++) events.publish('room', sentence('recognized', String(at)))
  fence.open(fence.shutCount)
  events.publishHeld(() => 1)
  await until('all are heard', () => rig.master.roomEvents.length >= 1_000)
  expect([rig.master.roomEvents[0], rig.master.roomEvents.at(-1)]).toEqual([
    sentence('recognized', '1'),
    sentence('recognized', '1000'),
  ])
})

it('an event that cannot be published does not keep back the events after it', async () => {
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
