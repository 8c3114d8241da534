import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { DiscoveryService } from '@nestjs/core'
import type { DataSource } from 'typeorm'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import { StreamRepository } from '../streams/stream.repository.js'
import { SubscriptionRepository } from '../streams/subscription.repository.js'
import { AdmissionRepository } from './admission.repository.js'
import type { NewConnection } from './connection.records.js'
import { ConnectionRepository } from './connection.repository.js'
import { DepartureRepository } from './departure.repository.js'
import { EmptySessions } from './empty-sessions.js'
import { ParticipantRepository } from './participant.repository.js'
import { TokenReleaseRepository } from './token-release.repository.js'

const CONFIG = { SERVICE_CDR: true } as MasterConfig
const TAKEN = { clientData: '', ip: '127.0.0.1', platform: 'test', location: 'unknown', masterId: 'one' }

let database: TestDatabase
let source: DataSource
let close: MasterDatabase['close']
let admissions: AdmissionRepository
let connections: ConnectionRepository
let departures: DepartureRepository
let tokens: TokenReleaseRepository

beforeAll(async () => {
  ;({ database, dataSource: source, close } = await openMasterDatabase())
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM outbox')
  await database.query('DELETE FROM session')
  await insertSession(database, 'ses')
  const [events, clock] = [new EventLog(source, CONFIG), new ClusterClock()]
  const noHooks = new SessionEndHooks({ getProviders: () => [] } as unknown as DiscoveryService)
  admissions = new AdmissionRepository(source, events)
  connections = new ConnectionRepository(source)
  const emptySessions = new EmptySessions(events, noHooks, clock)
  departures = new DepartureRepository(events, emptySessions, clock)
  tokens = new TokenReleaseRepository(events, emptySessions, clock)
})

/** The token of a connection of `insertParticipants` is its id. */
const take = (id: string) => admissions.take(Buffer.from(id), { ...TAKEN, resumeHash: Buffer.from(id) })
const idsOf = (count: number): string[] => Array.from({ length: count }, (_, nth) => `con_${nth}`)

/** The stream `camera` of alice. */
const insertStream = () =>
  database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     VALUES ('camera', 'ses', 'alice', 1, '{"hasAudio": true, "hasVideo": false}')`,
  )

/** Name and participant of each recorded event, and the number of transactions that recorded them. */
async function recorded(): Promise<{ events: string[]; transactions: number }> {
  const found = await database.query('SELECT name, payload, xmin::text AS transaction FROM outbox ORDER BY position')
  const events = found.map(({ name, payload }) => {
    const { participantId, reason } = JSON.parse(String(payload)) as { participantId?: string; reason?: string }
    return [String(name), participantId, reason].filter((part) => part !== undefined).join(' ')
  })
  return { events, transactions: new Set(found.map(({ transaction }) => transaction)).size }
}

it('the repository takes the tokens of a crowd in one transaction, in their order, and each token once', async () => {
  const ids = idsOf(5)
  await insertParticipants(database, 'ses', ...ids)
  await database.query(`UPDATE connection SET status = 'pending'`)
  const joined = await Promise.all([...ids, 'con_0', 'unknown'].map(take))
  expect(joined.map((participant) => participant?.connectionId)).toEqual([...ids, undefined, undefined])
  expect(await recorded()).toEqual({ events: ids.map((id) => `participantJoined ${id}`), transactions: 1 })
})

it('subscriptions of a crowd begin and end in one transaction each, with an event of each', async () => {
  const ids = idsOf(4)
  await insertParticipants(database, 'ses', 'alice', ...ids)
  await database.query(`UPDATE session SET media_node_id = 'node', media_node_boot_id = 'boot', media_epoch = 1`)
  await insertStream()
  const subscriptions = new SubscriptionRepository(new EventLog(source, CONFIG), new ClusterClock())
  const [streamId, mediaEpoch, createdAt] = ['camera', 1, Date.now()]
  await Promise.all(ids.map((connectionId) => subscriptions.insert({ connectionId, streamId, mediaEpoch, createdAt })))
  const begun = await recorded()
  expect({ ...begun, events: begun.events.toSorted() }).toEqual({
    events: ids.map((id) => `webrtcConnectionCreated ${id}`),
    transactions: 1,
  })
  await database.query('DELETE FROM outbox')
  const ended = [...ids, 'con_0', 'alice'].map((connectionId) => subscriptions.delete(connectionId, streamId))
  expect(await Promise.all(ended)).toEqual([true, true, true, true, false, false])
  expect(await recorded()).toEqual({
    events: ids.map((id) => `webrtcConnectionDestroyed ${id} unsubscribe`),
    transactions: 1,
  })
})

it('streams that a crowd unpublishes end in one transaction, each with its subscriptions', async () => {
  await insertParticipants(database, 'ses', 'alice', 'bob')
  await database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     SELECT id, 'ses', publisher, 1, '{"hasAudio": true, "hasVideo": false}'
     FROM (VALUES ('camera', 'alice'), ('screen', 'alice'), ('of_bob', 'bob')) AS r(id, publisher)`,
  )
  await database.query(`INSERT INTO subscription (connection_id, stream_id, created_at) VALUES ('bob', 'camera', 2)`)
  const streams = new StreamRepository(source, new EventLog(source, CONFIG), new ClusterClock())
  const ended = await Promise.all([
    streams.delete('ses', 'camera', 'unpublish', { connectionId: 'alice' }),
    streams.delete('ses', 'of_bob', 'unpublish', { connectionId: 'alice' }),
    streams.delete('ses', 'screen', 'forceUnpublishByServer'),
    streams.delete('ses', 'camera', 'forceUnpublishByServer'),
    streams.delete('other', 'of_bob', 'forceUnpublishByServer'),
  ])
  expect(ended.map((stream) => stream?.streamId)).toEqual(['camera', undefined, 'screen', undefined, undefined])
  expect(await recorded()).toEqual({
    events: [
      'webrtcConnectionDestroyed bob unpublish',
      'webrtcConnectionDestroyed alice unpublish',
      'webrtcConnectionDestroyed alice forceUnpublishByServer',
    ],
    transactions: 1,
  })
  expect(await database.query('SELECT id FROM stream')).toEqual([{ id: 'of_bob' }])
})

it('a crowd leaves in one transaction, in which each stream ends once, and the session with the last participant', async () => {
  await insertParticipants(database, 'ses', 'alice', 'bob', 'carol')
  await insertStream()
  await database.query(`INSERT INTO subscription (connection_id, stream_id, created_at) VALUES ('bob', 'camera', 2)`)
  const removed = await Promise.all([
    departures.remove('alice', 'networkDisconnect'),
    departures.remove('bob', 'disconnect'),
    departures.remove('carol', 'forceDisconnectByServer', { sessionId: 'ses' }),
  ])
  expect(removed.map((one) => [one?.connectionId, one?.streamIds, one?.sessionEnded])).toEqual([
    ['alice', ['camera'], false],
    ['bob', [], false],
    ['carol', [], true],
  ])
  expect(await recorded()).toEqual({
    events: [
      'webrtcConnectionDestroyed bob networkDisconnect',
      'webrtcConnectionDestroyed alice networkDisconnect',
      'participantLeft alice networkDisconnect',
      'participantLeft bob disconnect',
      'participantLeft carol forceDisconnectByServer',
      'sessionDestroyed lastParticipantLeft',
    ],
    transactions: 1,
  })
  expect(await database.query('SELECT id FROM session')).toEqual([])
})

it('failed joins of a crowd are undone in one transaction, those of recorders without events', async () => {
  await insertParticipants(database, 'ses', 'alice', 'bob', 'recorder')
  await database.query(
    `UPDATE connection SET ip = '127.0.0.1', status = CASE id WHEN 'recorder' THEN 'hidden' ELSE status END`,
  )
  await database.query('UPDATE session SET max_duration = 60, ends_at = clock_timestamp()')
  const released = await Promise.all(['bob', 'recorder', 'unknown', 'alice'].map((id) => tokens.release(id)))
  expect(released.map(({ sessionEnded }) => sessionEnded)).toEqual([false, false, false, false])
  expect(await recorded()).toEqual({
    events: ['participantLeft bob networkDisconnect', 'participantLeft alice networkDisconnect'],
    transactions: 1,
  })
  expect(await database.query('SELECT id, status, ip, active_at AS at FROM connection ORDER BY id')).toEqual([
    { id: 'alice', status: 'pending', ip: null, at: null },
    { id: 'bob', status: 'pending', ip: null, at: null },
    { id: 'recorder', status: 'awaited', ip: null, at: null },
  ])
  expect(await database.query('SELECT ends_at AS at FROM session')).toEqual([{ at: null }])
  expect((await take('bob'))?.connectionId).toBe('bob')
})

it('only a recorded session whose joins all failed after its last participant had left ends with them', async () => {
  await insertSession(database, 'manual')
  await insertParticipants(database, 'ses', 'alice', 'bob')
  await insertParticipants(database, 'manual', 'carol')
  await database.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
     VALUES ('rec', 'ses', 'ses_1', 'started', 1, '{}', 'node')`,
  )
  const released = await Promise.all(['alice', 'carol', 'bob'].map((id) => tokens.release(id)))
  expect(released.map(({ sessionEnded }) => sessionEnded)).toEqual([false, false, true])
  expect(await database.query('SELECT id FROM session')).toEqual([{ id: 'manual' }])
  expect((await recorded()).events).toEqual([
    'participantLeft alice networkDisconnect',
    'participantLeft carol networkDisconnect',
    'participantLeft bob networkDisconnect',
    'sessionDestroyed lastParticipantLeft',
  ])
})

it('the repository removes only those of a crowd whose conditions are met', async () => {
  await insertSession(database, 'other')
  await insertParticipants(database, 'ses', 'overdue', 'resumed', 'lost', 'elsewhere', 'recorder')
  await database.query(`UPDATE connection SET evict_at = clock_timestamp() - interval '1 s' WHERE id = 'overdue'`)
  await database.query(`UPDATE connection SET evict_at = clock_timestamp() + interval '1 h' WHERE id = 'lost'`)
  await database.query(`UPDATE connection SET status = 'hidden' WHERE id = 'recorder'`)
  const removed = await Promise.all([
    departures.remove('overdue', 'networkDisconnect', { only: 'overdue' }),
    departures.remove('resumed', 'networkDisconnect', { only: 'overdue' }),
    departures.remove('lost', 'disconnect', { only: 'lost' }),
    departures.remove('elsewhere', 'forceDisconnectByServer', { sessionId: 'other' }),
    departures.remove('recorder', 'forceDisconnectByServer', { sessionId: 'ses' }),
    departures.remove('unknown', 'disconnect'),
  ])
  expect(removed.map((one) => one?.connectionId)).toEqual([
    'overdue',
    undefined,
    'lost',
    undefined,
    undefined,
    undefined,
  ])
  expect(removed.map((one) => one?.sessionEnded ?? false)).not.toContain(true)
})

it('rights of a crowd are read together, and the read waits for the one that is being changed', async () => {
  const ids = idsOf(3)
  await insertParticipants(database, 'ses', ...ids)
  const participants = new ParticipantRepository(source)
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`UPDATE connection SET role = 'MODERATOR' WHERE id = 'con_1'`)
    const rights = Promise.all([...ids, 'unknown'].map((id) => participants.rights(id)))
    await untilLocked('the read waits for the lock', database)
    await holder.commitTransaction()
    expect((await rights).map((found) => found?.role)).toEqual(['PUBLISHER', 'MODERATOR', 'PUBLISHER', undefined])
  } finally {
    await holder.release()
  }
})

it.each(['leaves', 'joins', 'fails to join'])(
  'leaves connections to the database to others while a crowd that %s waits',
  async (change) => {
    const ids = idsOf(40)
    await insertParticipants(database, 'ses', ...ids)
    if (change === 'joins') await database.query(`UPDATE connection SET status = 'pending'`)
    const holder = source.createQueryRunner()
    await holder.startTransaction()
    let settled = 0
    try {
      await holder.query('SELECT 1 FROM session FOR UPDATE')
      const changes = ids.map(async (id) => {
        if (change === 'joins') await take(id)
        else if (change === 'leaves') await departures.remove(id, 'disconnect')
        else await tokens.release(id)
        settled++
      })
      const all = Promise.allSettled(changes)
      await untilLocked('the crowd waits for the lock', database)
      await source.query('SELECT 1')
      expect(settled).toBe(0)
      await holder.rollbackTransaction()
      await all
    } finally {
      await holder.release()
    }
    expect(settled).toBe(40)
  },
)

const newConnection = (id: string, sessionId: string): NewConnection => ({
  ...{ id, sessionId, createdAt: 1, serverData: '', record: true, role: 'PUBLISHER', mediaserverOptions: null },
  ...{ iceServers: [], tokenNonce: id, tokenHash: Buffer.from(id).toString('hex'), traceContext: null },
})

/** The changes that crowds make, each for a participant of a session. */
const CHANGES = {
  'creating connections': (id: string, sessionId: string) => connections.insert(newConnection(`new_${id}`, sessionId)),
  joining: (id: string) => take(id),
  leaving: (id: string) => departures.remove(id, 'disconnect'),
  'undoing joins': (id: string) => tokens.release(id),
}

it('changes of a crowd continue for other sessions while one session is locked', async () => {
  const streams = new StreamRepository(source, new EventLog(source, CONFIG), new ClusterClock())
  const subscriptions = new SubscriptionRepository(new EventLog(source, CONFIG), new ClusterClock())
  const media = { createdAt: 1, mediaEpoch: 1 }
  const mediaOptions = { hasAudio: true, hasVideo: false, filter: {} }
  // Each with sessions of its own, so that none waits for another.
  const changes = {
    ...CHANGES,
    publishing: (id: string, sessionId: string) =>
      streams.insert({ ...media, id: `new_${id}`, sessionId, connectionId: id, mediaOptions, maxStreams: null }),
    unpublishing: (id: string, sessionId: string) => streams.delete(sessionId, `of_${id}`, 'unpublish'),
    subscribing: (id: string) => subscriptions.insert({ ...media, connectionId: id, streamId: `of_${id}` }),
    unsubscribing: (id: string) => subscriptions.delete(id, `of_${id}`),
  }
  const all = Object.entries(changes).flatMap(([name, change]) =>
    ['free', 'locked'].map((state) => ({ name, change, state, id: `${name} ${state}` })),
  )
  for (const { id } of all) {
    await insertSession(database, `in ${id}`)
    await insertParticipants(database, `in ${id}`, id)
  }
  await database.query(`UPDATE connection SET status = 'pending' WHERE id LIKE 'joining%'`)
  await database.query(`UPDATE session SET media_node_id = 'node', media_node_boot_id = 'boot', media_epoch = 1`)
  await database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     SELECT 'of_' || id, session_id, id, 1, '{"hasAudio": true, "hasVideo": false}' FROM connection`,
  )
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM session WHERE id LIKE '% locked' FOR UPDATE`)
    const outcomes = all.map(({ change, id }) => change(id, `in ${id}`))
    await Promise.all(outcomes.filter((_, nth) => all[nth]?.state === 'free'))
    await untilLocked('the others still wait', database, (waiting) => waiting === Object.keys(changes).length)
    await holder.rollbackTransaction()
    await Promise.all(outcomes)
  } finally {
    if (holder.isTransactionActive) await holder.rollbackTransaction()
    await holder.release()
  }
})

it.each(Object.entries(CHANGES))('%s locks several sessions in the order of their ids', async (name, change) => {
  for (const session of ['a', 'b']) {
    await insertSession(database, session)
    await insertParticipants(database, session, `in_${session}`)
  }
  if (name === 'joining') await database.query(`UPDATE connection SET status = 'pending'`)
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM session WHERE id = 'b' FOR UPDATE`)
    const changes = Promise.all([change('in_b', 'b'), change('in_a', 'a')])
    await untilLocked('the change waits for the lock', database)
    await expect(database.query(`SELECT 1 FROM session WHERE id = 'a' FOR UPDATE NOWAIT`)).rejects.toThrow('lock')
    await holder.commitTransaction()
    await changes
  } finally {
    if (holder.isTransactionActive) await holder.rollbackTransaction()
    await holder.release()
  }
})
