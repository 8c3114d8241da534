import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { EventLog } from '../events/event-log.js'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { ClientBudgets } from '../platform/limits/client-budgets.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { RecentSignals } from './recent-signals.js'
import { SignalsService } from './signals.service.js'

let database: TestDatabase
let source: DataSource
let close: MasterDatabase['close']

beforeAll(async () => {
  ;({ database, dataSource: source, close } = await openMasterDatabase())
})
afterAll(() => close())
beforeEach(async () => {
  for (const table of ['outbox', 'recent_signal', 'session']) await database.query(`DELETE FROM ${table}`)
  for (const [session, ...participants] of [
    ['red', 'alice', 'bob'],
    ['blue', 'carol'],
  ] as const) {
    await insertSession(database, session)
    await insertParticipants(database, session, ...participants)
  }
})

/** Sends signals to all participants at once. `notified`: the notifications in the order in which they were sent. */
async function sendAtOnce(signals: [sessionId: string, from: string, data: string][]) {
  const notified: { roomId: string; data: string; id: number }[] = []
  const broadcast = {
    notify: (roomId: string, { params }: { params: { data: string } }, { signalId: id }: { signalId: number }) =>
      notified.push({ roomId, data: params.data, id }),
  } as unknown as SessionBroadcast
  const service = new SignalsService(
    new ParticipantRepository(source),
    broadcast,
    new EventLog(source, { SERVICE_CDR: true } as MasterConfig),
    new ClusterClock(),
    new ClientBudgets(),
    new RecentSignals(source),
  )
  const results = await Promise.allSettled(
    signals.map(([sessionId, connectionId, data]) =>
      service.sendFromClient({ sessionId, roomId: `${sessionId}_1`, connectionId }, { to: [], type: 'chat', data }),
    ),
  )
  return { notified, outcomes: results.map(({ status }) => status) }
}

it('signals of several sessions are stored in one transaction, each with the clients of its session in its event', async () => {
  await sendAtOnce([
    ['red', 'alice', 'to red'],
    ['blue', 'carol', 'to blue'],
    ['red', 'bob', 'also to red'],
  ])
  const events = await database.query('SELECT payload, xmin::text AS transaction FROM outbox ORDER BY position')
  const payloads = events.map(({ payload }) => JSON.parse(String(payload)) as { [member: string]: unknown })
  expect(payloads.map(({ sessionId, from, to, type, data }) => ({ sessionId, from, to, type, data }))).toEqual([
    { sessionId: 'red', from: 'alice', to: ['alice', 'bob'], type: 'chat', data: 'to red' },
    { sessionId: 'blue', from: 'carol', to: ['carol'], type: 'chat', data: 'to blue' },
    { sessionId: 'red', from: 'bob', to: ['alice', 'bob'], type: 'chat', data: 'also to red' },
  ])
  expect(new Set(events.map(({ transaction }) => transaction)).size).toBe(1)
})

it('signals of a session get ascending ids in the order of their notifications', async () => {
  const { notified } = await sendAtOnce(
    Array.from({ length: 60 }, (_, nth) => [nth % 3 === 0 ? 'blue' : 'red', 'alice', `${nth}`]),
  )
  const ids = notified.filter(({ roomId }) => roomId === 'red_1').map(({ id }) => id)
  expect(ids).toHaveLength(40)
  expect(ids).toEqual(ids.toSorted((one, other) => one - other))
})

it('any text is stored as it is, and only the signal that Postgres cannot store is refused', async () => {
  const texts = ['quote " backslash \\ brace {}', 'NULL', '', 'smile \u{1f600}, line\nbreak']
  const { outcomes } = await sendAtOnce([...texts, 'zero \0'].map((data) => ['red', 'alice', data]))
  expect(outcomes).toEqual([...texts.map(() => 'fulfilled'), 'rejected'])
  const stored = await database.query('SELECT data, bytes FROM recent_signal ORDER BY id')
  expect(stored).toHaveLength(texts.length)
  expect(stored).toEqual(expect.arrayContaining(texts.map((data) => ({ data, bytes: Buffer.byteLength(data) }))))
})

it('a signal is stored with the recipients that it names, and one to all without', async () => {
  const signal = { roomId: 'red_1', from: null, type: 'signal', data: 'hello' }
  const recent = new RecentSignals(source)
  await recent.insert(source.manager, [
    { ...signal, to: ['alice', 'bob'] },
    { ...signal, to: [] },
  ])
  expect(await database.query('SELECT recipients FROM recent_signal ORDER BY id')).toEqual([
    { recipients: ['alice', 'bob'] },
    { recipients: null },
  ])
})

it('a read of missed signals finds those of each of several participants', async () => {
  const recent = new RecentSignals(source)
  const sent = (roomId: string, data: string, ...to: string[]) => ({ roomId, from: null, type: 'chat', data, to })
  const [first = 0, second = 0] = await recent.insert(source.manager, [
    sent('red_1', 'first'),
    sent('red_1', 'second'),
    sent('red_1', 'to bob', 'bob'),
    sent('blue_1', 'to blue'),
  ])
  const missed = await Promise.all(
    [
      ['red_1', 'alice', { received: [], lastSent: null }] as const,
      ['red_1', 'alice', { received: [first], lastSent: null }] as const,
      ['red_1', 'bob', { received: undefined, lastSent: second }] as const,
      ['blue_1', 'carol', { received: [], lastSent: null }] as const,
      ['green_1', 'dora', { received: [], lastSent: null }] as const,
      ['red_1', 'bob', { received: undefined, lastSent: null }] as const,
    ].map(([roomId, connectionId, position]) => recent.missed({ roomId, connectionId, activeAt: 1 }, position)),
  )
  expect(missed.map(({ signals }) => signals.map(({ params }) => params.data))).toEqual([
    ['first', 'second'],
    ['second'],
    ['to bob'],
    ['to blue'],
    [],
    [],
  ])
  expect(missed.at(-1)?.after).toBe(second + 1)
})
