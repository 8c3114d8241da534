import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  QUEUE,
  ServiceError,
  SUBJECT,
  type NodeFact,
  type NodeFactAnswer,
  type HeldRoom,
} from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { z } from 'zod'
import type { Bus } from '../bus/bus.js'
import { REPORT_RPC, type ReportBody, ReportSender, type ReportSenderOptions } from './report-sender.js'
import { NatsServer } from '../fixtures/nats-server.js'
import { TestBuses } from '../fixtures/test-buses.js'

let nats: NatsServer
const buses = new TestBuses()
const senders: ReportSender[] = []
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  for (const sender of senders.splice(0)) sender.close()
  await buses.clear()
})
afterAll(() => nats.kill())

function senderOn(bus: Bus, options: Partial<ReportSenderOptions> = {}): ReportSender {
  const sender = new ReportSender(bus, {
    nodeId: 'node1',
    bootId: 'boot1',
    onProblem: (problem) => buses.problems.push(problem),
    ...options,
  })
  senders.push(sender)
  return sender
}

/** Serves reports as a master of the queue group; `received` gets each report once, by its id. */
function master(
  bus: Bus,
  received: NodeFact[],
  answer: (fact: NodeFact) => NodeFactAnswer = () => ({ dropRoomIds: [] }),
) {
  bus.serve(
    SUBJECT.allFacts,
    REPORT_RPC,
    (fact) => {
      if (!received.some(({ factId }) => factId === fact.factId)) received.push(fact)
      return answer(fact)
    },
    { queue: QUEUE.masters },
  )
}
/** The master that the queue group chooses receives reports and does not answer; another one receives repeated reports. */
async function frozenAndOther(): Promise<{ frozen: Bus; other: Bus; repeated: NodeFact[] }> {
  const [frozen, other] = [await buses.connect(nats.url), await buses.connect(nats.url)]
  const repeated: NodeFact[] = []
  frozen.serve(SUBJECT.allFacts, REPORT_RPC, () => new Promise<never>(() => undefined), { queue: QUEUE.masters })
  other.serve(SUBJECT.allRepeatedFacts, REPORT_RPC, (fact) => {
    repeated.push(fact)
    return { dropRoomIds: [] }
  })
  await Promise.all([frozen.flush(), other.flush()])
  return { frozen, other, repeated }
}
const held = (...roomIds: string[]): HeldRoom[] => roomIds.map((roomId) => ({ roomId, epoch: 1 }))
const BODIES = {
  hello: { kind: 'hello', ip: '127.0.0.1', rooms: [] },
  roomsLost: { kind: 'roomsLost', rooms: held('r') },
  filterEnded: {
    kind: 'filterEnded',
    roomId: 'r',
    epoch: 1,
    streamId: 's',
    connectionId: 'c',
    filterId: 'f',
    reason: 'the program has ended',
  },
} satisfies Record<string, ReportBody>
const roomsOf = (fact: NodeFact): HeldRoom[] => ('rooms' in fact ? fact.rooms : [])
const rooms = (facts: readonly NodeFact[]): string[] =>
  facts.flatMap((fact) => roomsOf(fact).map(({ roomId }) => roomId))

describe('ReportSender', () => {
  it('delivers a report to one master of the group and returns its answer', async () => {
    const [first, second, node] = [
      await buses.connect(nats.url),
      await buses.connect(nats.url),
      await buses.connect(nats.url),
    ]
    const received: NodeFact[] = []
    for (const bus of [first, second]) master(bus, received, (fact) => ({ dropRoomIds: [roomsOf(fact)[0]!.roomId] }))
    await Promise.all([first.flush(), second.flush()])
    const sender = senderOn(node)
    const answer = await sender.send({ kind: 'hello', ip: '127.0.0.1', rooms: held('r1', 'r2') })
    expect(answer).toEqual({ dropRoomIds: ['r1'] })
    expect(received).toMatchObject([{ kind: 'hello', nodeId: 'node1', bootId: 'boot1', ip: '127.0.0.1' }])
    expect(sender.pending).toBe(0)
  })

  it('delivers reports of an outage in order, each id once', async () => {
    const [masterBus, node] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const received: NodeFact[] = []
    master(masterBus, received)
    await masterBus.flush()
    const sender = senderOn(node)
    await sender.send({ kind: 'roomsLost', rooms: held('before') })
    await nats.kill()
    await until('the outage is detected', () => !node.connected && !masterBus.connected)
    const expected = Array.from({ length: 50 }, (_, index) => `room${index}`)
    const sent = Promise.all(expected.map((roomId) => sender.send({ kind: 'roomsLost', rooms: held(roomId) })))
    expect(sender.pending).toBe(50)
    await nats.up()
    await sent
    expect(rooms(received)).toEqual(['before', ...expected])
    expect(new Set(received.map(({ factId }) => factId)).size).toBe(51)
  })

  it('retries with the same id until a master acknowledges the report', async () => {
    const [masterBus, node] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const sender = senderOn(node, { firstPauseMs: 10, longestPauseMs: 20, attemptMs: 2_000 })
    const sent = sender.send({ kind: 'roomsLost', rooms: held('r') })
    const ids: string[] = []
    masterBus.serve(SUBJECT.allFacts, REPORT_RPC, async ({ factId }) => {
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

  it('delivers the reports behind one that masters fail to handle, and that one when they succeed', async () => {
    const [masterBus, node] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const handled: string[] = []
    let isBroken = true
    let failures = 0
    masterBus.serve(SUBJECT.allFacts, REPORT_RPC, (fact) => {
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
    const reports = ['poison', 'r1', 'r2'].map((roomId) => sender.send({ kind: 'roomsLost', rooms: held(roomId) }))
    await Promise.all(reports.slice(1))
    expect(handled).toEqual(['r1', 'r2'])
    await until('the failing report is retried', () => failures > 2)
    const later = sender.send({ kind: 'roomsLost', rooms: held('r3') })
    expect(await later).toEqual({ dropRoomIds: [] })
    expect(sender.pending).toBe(1)
    isBroken = false
    await reports[0]
    expect(handled).toEqual(['r1', 'r2', 'r3', 'poison'])
  })

  it.each(['goodbye', 'roomsLost'] as const)(
    'repeats the report %s to all masters when the chosen one does not answer, once and with the same id',
    async (kind) => {
      const { frozen, repeated } = await frozenAndOther()
      const sender = senderOn(await buses.connect(nats.url), { attemptMs: 60_000, repeatMs: 20 })
      expect(await sender.send({ kind, rooms: held('r') })).toEqual({ dropRoomIds: [] })
      expect(repeated).toMatchObject([{ kind, rooms: held('r') }])
      expect(sender.pending).toBe(0)
      await frozen.close(10)
    },
  )

  it('repeats a report that delays the loss of rooms behind it, and no other one', async () => {
    const { frozen, repeated } = await frozenAndOther()
    const sender = senderOn(await buses.connect(nats.url), { attemptMs: 60_000, repeatMs: 20 })
    const [first, lost] = [sender.send(BODIES.filterEnded), sender.send(BODIES.roomsLost)]
    expect(await first).toEqual({ dropRoomIds: [] })
    expect(await lost).toEqual({ dropRoomIds: [] })
    expect(repeated.map(({ kind }) => kind)).toEqual(['filterEnded', 'roomsLost'])
    await frozen.close(10)
  })

  it.each([
    ['a registration, also with a loss of rooms behind it', ['hello', 'roomsLost'] as const],
    ['a report without urgency', ['filterEnded'] as const],
  ])('leaves %s to the queue group', async (_what, kinds) => {
    const { frozen, repeated } = await frozenAndOther()
    const sender = senderOn(await buses.connect(nats.url), { attemptMs: 200, repeatMs: 20, firstPauseMs: 10 })
    const sent = kinds.map((kind) => sender.send(BODIES[kind]))
    const received: NodeFact[] = []
    const late = await buses.connect(nats.url)
    late.serve(SUBJECT.allFacts, REPORT_RPC, (fact) => {
      received.push(fact)
      if (received.length < 3) return new Promise<never>(() => undefined)
      return { dropRoomIds: [] }
    })
    await Promise.all(sent)
    expect(received.length).toBeGreaterThanOrEqual(3)
    expect(repeated.map(({ kind }) => kind)).not.toContain(kinds[0])
    await Promise.all([frozen.close(10), late.close(10)])
  })

  it('drops a report that masters reject as invalid and continues with the next', async () => {
    const [masterBus, node] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const OlderFact = z.object({ kind: z.enum(['hello', 'roomsLost']) })
    masterBus.serve(SUBJECT.allFacts, [OlderFact, REPORT_RPC[1], 2_000], () => ({ dropRoomIds: ['known'] }))
    await masterBus.flush()
    const sender = senderOn(node)
    const unknown = sender.send({ kind: 'goodbye', rooms: [] })
    const known = sender.send({ kind: 'roomsLost', rooms: held('r') })
    await expect(unknown).rejects.toMatchObject({ code: 'INVALID' })
    expect(await known).toEqual({ dropRoomIds: ['known'] })
    expect(buses.problems.some(({ message }) => message.startsWith('a report was not delivered: kind'))).toBe(true)
  })

  it('rejects reports above its limit, and all reports after close', async () => {
    const node = await buses.connect(nats.url)
    const sender = senderOn(node, { limit: 2 })
    const queued = [1, 2].map((n) => sender.send({ kind: 'roomsLost', rooms: held(`r${n}`) }))
    await expect(sender.send({ kind: 'roomsLost', rooms: held('r3') })).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    expect(sender.pending).toBe(2)
    sender.close()
    for (const one of queued) await expect(one).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await expect(sender.send({ kind: 'goodbye', rooms: [] })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(sender.pending).toBe(0)
  })
})
