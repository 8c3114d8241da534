import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  QUEUE,
  ServiceError,
  SUBJECT,
  type NodeFact,
  type NodeFactAnswer,
  type HeldRoom,
} from '@session-service/contract'
import { z } from 'zod'
import type { Bus } from './bus.js'
import { FACT_RPC, FactSender, type FactSenderOptions } from './fact-sender.js'
import { NatsServer } from './fixtures/nats-server.js'
import { Stage } from './fixtures/stage.js'
import { until } from './fixtures/until.js'

let nats: NatsServer
const stage = new Stage()
const senders: FactSender[] = []
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  for (const sender of senders.splice(0)) sender.close()
  await stage.clear()
})
afterAll(() => nats.kill())

function senderOn(bus: Bus, options: Partial<FactSenderOptions> = {}): FactSender {
  const sender = new FactSender(bus, {
    nodeId: 'node1',
    bootId: 'boot1',
    onProblem: (problem) => stage.problems.push(problem),
    ...options,
  })
  senders.push(sender)
  return sender
}

/** A master of the queue group that handles a fact id once, and keeps what it heard. */
function master(bus: Bus, heard: NodeFact[], answer: (fact: NodeFact) => NodeFactAnswer = () => ({ dropRoomIds: [] })) {
  bus.serve(
    SUBJECT.allFacts,
    FACT_RPC,
    (fact) => {
      if (!heard.some(({ factId }) => factId === fact.factId)) heard.push(fact)
      return answer(fact)
    },
    { queue: QUEUE.masters },
  )
}
const held = (...roomIds: string[]): HeldRoom[] => roomIds.map((roomId) => ({ roomId, epoch: 1 }))
const roomsOf = (fact: NodeFact): HeldRoom[] => ('rooms' in fact ? fact.rooms : [])
const rooms = (facts: readonly NodeFact[]): string[] =>
  facts.flatMap((fact) => roomsOf(fact).map(({ roomId }) => roomId))

describe('FactSender', () => {
  it('tells one master of the group, and gives its answer', async () => {
    const [first, second, node] = [await stage.bus(nats.url), await stage.bus(nats.url), await stage.bus(nats.url)]
    const heard: NodeFact[] = []
    for (const bus of [first, second]) master(bus, heard, (fact) => ({ dropRoomIds: [roomsOf(fact)[0]!.roomId] }))
    await Promise.all([first.flush(), second.flush()])
    const sender = senderOn(node)
    const answer = await sender.send({ kind: 'hello', ip: '127.0.0.1', rooms: held('r1', 'r2') })
    expect(answer).toEqual({ dropRoomIds: ['r1'] })
    expect(heard).toMatchObject([{ kind: 'hello', nodeId: 'node1', bootId: 'boot1', ip: '127.0.0.1' }])
    expect(sender.pending).toBe(0)
  })

  it('delivers what happened during an outage in order, each id once', async () => {
    const [masterBus, node] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const heard: NodeFact[] = []
    master(masterBus, heard)
    await masterBus.flush()
    const sender = senderOn(node)
    await sender.send({ kind: 'roomsLost', rooms: held('before') })
    await nats.kill()
    await until('the outage is known', () => !node.connected && !masterBus.connected)
    const expected = Array.from({ length: 50 }, (_, index) => `room${index}`)
    const sent = Promise.all(expected.map((roomId) => sender.send({ kind: 'roomsLost', rooms: held(roomId) })))
    expect(sender.pending).toBe(50)
    await nats.up()
    await sent
    expect(rooms(heard)).toEqual(['before', ...expected])
    expect(new Set(heard.map(({ factId }) => factId)).size).toBe(51)
  })

  it('repeats under the same id until a master can take it', async () => {
    const [masterBus, node] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const sender = senderOn(node, { firstPauseMs: 10, longestPauseMs: 20, attemptMs: 2_000 })
    const sent = sender.send({ kind: 'roomsLost', rooms: held('r') })
    const ids: string[] = []
    masterBus.serve(SUBJECT.allFacts, FACT_RPC, async ({ factId }) => {
      ids.push(factId)
      if (ids.length === 1) throw new ServiceError('UNAVAILABLE', 'no database')
      if (ids.length === 2) throw new Error('a bug')
      if (ids.length === 3) await new Promise(() => undefined)
      return { dropRoomIds: [] }
    })
    expect(await sent).toEqual({ dropRoomIds: [] })
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(1)
    await masterBus.close(10)
  })

  it('A20: delivers the facts behind one that masters fail to handle, and that one once they can', async () => {
    const [masterBus, node] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const handled: string[] = []
    let isBroken = true
    let failures = 0
    masterBus.serve(SUBJECT.allFacts, FACT_RPC, (fact) => {
      const [room = ''] = roomsOf(fact).map(({ roomId }) => roomId)
      if (room === 'poison' && isBroken) {
        failures += 1
        throw new Error('a bug')
      }
      handled.push(room)
      return { dropRoomIds: [] }
    })
    await masterBus.flush()
    const sender = senderOn(node, { firstPauseMs: 10, longestPauseMs: 20 })
    const facts = ['poison', 'r1', 'r2'].map((roomId) => sender.send({ kind: 'roomsLost', rooms: held(roomId) }))
    await Promise.all(facts.slice(1))
    expect(handled).toEqual(['r1', 'r2'])
    await until('the poison is tried again', () => failures > 2)
    const later = sender.send({ kind: 'roomsLost', rooms: held('r3') })
    expect(await later).toEqual({ dropRoomIds: [] })
    expect(sender.pending).toBe(1)
    isBroken = false
    await facts[0]
    expect(handled).toEqual(['r1', 'r2', 'r3', 'poison'])
  })

  it('drops what masters cannot read and goes on with the next', async () => {
    const [masterBus, node] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const OlderFact = z.object({ kind: z.enum(['hello', 'roomsLost']) })
    masterBus.serve(SUBJECT.allFacts, [OlderFact, FACT_RPC[1], 2_000], () => ({ dropRoomIds: ['known'] }))
    await masterBus.flush()
    const sender = senderOn(node)
    const unknown = sender.send({ kind: 'goodbye', rooms: [] })
    const known = sender.send({ kind: 'roomsLost', rooms: held('r') })
    await expect(unknown).rejects.toMatchObject({ code: 'INVALID' })
    expect(await known).toEqual({ dropRoomIds: ['known'] })
    expect(stage.problems.some(({ message }) => message.startsWith('a fact was not sent: kind'))).toBe(true)
  })

  it('keeps no more than its limit, and nothing after close', async () => {
    const node = await stage.bus(nats.url)
    const sender = senderOn(node, { limit: 2 })
    const kept = [1, 2].map((n) => sender.send({ kind: 'roomsLost', rooms: held(`r${n}`) }))
    await expect(sender.send({ kind: 'roomsLost', rooms: held('r3') })).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    expect(sender.pending).toBe(2)
    sender.close()
    for (const one of kept) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await expect(sender.send({ kind: 'goodbye', rooms: [] })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(sender.pending).toBe(0)
  })
})
