import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { DiscoveryService } from '@nestjs/core'
import type { DataSource } from 'typeorm'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { poolOf } from '../platform/database/data-source.js'
import { insertParticipants, insertSession } from './fixtures/rows.js'
import { type ClosedSession, SessionDeletionRepository } from './session-deletion.repository.js'
import { SessionEndHooks } from './session-end-hooks.js'

let database: TestDatabase
let source: DataSource
let close: MasterDatabase['close']
let deletions: SessionDeletionRepository

beforeAll(async () => {
  ;({ database, dataSource: source, close } = await openMasterDatabase())
  const noHooks = new SessionEndHooks({ getProviders: () => [] } as unknown as DiscoveryService)
  const events = new EventLog(source, { SERVICE_CDR: true } as MasterConfig)
  deletions = new SessionDeletionRepository(events, noHooks, new ClusterClock())
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM outbox')
  await database.query('DELETE FROM recording')
  await database.query('DELETE FROM session')
  for (const id of ['a', 'b', 'c']) await insertSession(database, id)
  await insertParticipants(database, 'a', 'alice', 'bob')
})

const remaining = async (): Promise<unknown[]> =>
  (await database.query('SELECT id FROM session ORDER BY id')).map(({ id }) => id)

it('a batch of deletions ends its empty sessions in one transaction, each session once and with its own events', async () => {
  await insertSession(database, 'd')
  const ended = await Promise.all([
    deletions.delete('d', 'sessionClosedByServer'),
    deletions.delete('b', 'sessionClosedByServer'),
    deletions.delete('a', 'sessionClosedByServer'),
    deletions.delete('b', 'sessionClosedByServer'),
    deletions.delete('unknown', 'sessionClosedByServer'),
  ])
  expect(ended.map((session) => [session?.id, session?.participants.map(({ connectionId }) => connectionId)])).toEqual([
    ['d', []],
    ['b', []],
    ['a', ['alice', 'bob']],
    [undefined, undefined],
    [undefined, undefined],
  ])
  const events = await database.query('SELECT session_key AS key, name, xmin::text FROM outbox ORDER BY position')
  // One with participants is deleted after the others, in a transaction of its own.
  expect(events.map(({ key, name }) => `${String(key)} ${String(name)}`)).toEqual([
    'd_1 sessionDestroyed',
    'b_1 sessionDestroyed',
    'a_1 participantLeft',
    'a_1 participantLeft',
    'a_1 sessionDestroyed',
  ])
  expect(new Set(events.map(({ xmin }) => xmin)).size).toBe(2)
  expect(await remaining()).toEqual(['c'])
})

it('a batch of deletions ends sessions with a hundred participants together in one transaction, and larger ones alone', async () => {
  await insertSession(database, 'd')
  const members = (session: string, count: number) =>
    insertParticipants(database, session, ...Array.from({ length: count }, (_, nth) => `${session}_${nth}`))
  await members('b', 60)
  await members('c', 60)
  await members('d', 5)
  await database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     SELECT 'of ' || id, session_id, id, 1, '{"hasAudio": true, "hasVideo": false}' FROM connection
     WHERE id IN ('alice', 'd_0')`,
  )
  const ended = await Promise.all(['a', 'b', 'c', 'd'].map((id) => deletions.delete(id, 'sessionClosedByServer')))
  expect(ended.map((session) => session?.participants.length)).toEqual([2, 60, 60, 5])
  const events = await database.query('SELECT session_key AS key, name, xmin::text FROM outbox ORDER BY position')
  const of = (key: string): unknown[] => events.filter((event) => event.key === key).map(({ name }) => name)
  const left = (count: number): string[] => Array.from({ length: count }, () => 'participantLeft')
  expect(of('a_1')).toEqual(['webrtcConnectionDestroyed', ...left(2), 'sessionDestroyed'])
  expect(of('b_1')).toEqual([...left(60), 'sessionDestroyed'])
  expect(of('c_1')).toEqual([...left(60), 'sessionDestroyed'])
  expect(of('d_1')).toEqual(['webrtcConnectionDestroyed', ...left(5), 'sessionDestroyed'])
  const writers = new Map(events.map(({ key, xmin }) => [key, xmin]))
  expect(new Set(['a_1', 'b_1', 'd_1'].map((key) => writers.get(key))).size).toBe(1)
  expect(writers.get('c_1')).not.toBe(writers.get('a_1'))
  expect(await remaining()).toEqual([])
})

it('a batch of deletions ends large sessions in two transactions at a time', async () => {
  const sizes = { d: 60, e: 101, f: 60, g: 101, h: 60 }
  for (const [id, size] of Object.entries(sizes)) {
    await insertSession(database, id)
    await insertParticipants(database, id, ...Array.from({ length: size }, (_, nth) => `${id}_${nth}`))
  }
  const pool = poolOf(source)
  let most = 0
  const counting = {
    end: () => {
      most = Math.max(most, pool.totalCount - pool.idleCount)
      return Promise.resolve(new Map())
    },
  } as unknown as SessionEndHooks
  const large = new SessionDeletionRepository(new EventLog(source, {} as MasterConfig), counting, new ClusterClock())
  const ended = await Promise.all(Object.keys(sizes).map((id) => large.delete(id, 'sessionClosedByServer')))
  expect(ended.map((session) => session?.participants.length)).toEqual(Object.values(sizes))
  expect(most).toBeLessThanOrEqual(2)
})

it('sessions that lost their media end in one transaction for each event that theirs follow', async () => {
  const media = { media_node_id: 'node', media_node_boot_id: 'boot', media_epoch: 1 }
  const placed = Object.keys(media).map((column, nth) => `${column} = $${nth + 1}`)
  await insertSession(database, 'd')
  await insertParticipants(database, 'b', 'carol')
  await database.query(`UPDATE session SET ${placed.join(', ')}`, Object.values(media))
  const end = (id: string, epoch: number, after?: string): Promise<ClosedSession | undefined> =>
    deletions.deleteWithMedia({ uniqueSessionId: `${id}_1`, epoch }, 'nodeCrashed', { after })
  const ended = await Promise.all([end('a', 1, 'evt_1'), end('b', 1, 'evt_1'), end('c', 1, 'evt_2'), end('d', 0)])
  expect(ended.map((session) => session?.id)).toEqual(['a', 'b', 'c', undefined])
  const events = await database.query('SELECT session_key AS key, after_id AS after, xmin::text FROM outbox')
  const of = (after: string): typeof events => events.filter((event) => event.after === after)
  expect(new Set(of('evt_1').map(({ key }) => key))).toEqual(new Set(['a_1', 'b_1']))
  expect(new Set(of('evt_1').map(({ xmin }) => xmin)).size).toBe(1)
  expect(of('evt_2').map(({ key }) => key)).toEqual(['c_1'])
  expect(await remaining()).toEqual(['d'])
})

it('a batch of deletions ends only the sessions that meet their conditions', async () => {
  await insertParticipants(database, 'b', 'camera')
  await database.query(`UPDATE connection SET type = 'IPCAM' WHERE id = 'camera'`)
  await database.query(`UPDATE session SET was_emptied = true WHERE id = 'b'`)
  const ended = await Promise.all([
    deletions.deleteUnused('a_1'),
    deletions.deleteEmpty('b_1', 'lastParticipantLeft'),
    deletions.deleteEmpty('c_1', 'automaticStop'),
    deletions.deleteUnused('c_2'),
  ])
  expect(ended.map((session) => session?.id)).toEqual([undefined, 'b', 'c', undefined])
  expect(await remaining()).toEqual(['a'])
})

it('a session without participants is not ended by the departure of its last participant while it is being recorded', async () => {
  const record = (id: string, status: string): Promise<unknown> =>
    database.query(
      `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
       VALUES ($1 || $2, $1, $1 || '_1', $2, 1, '{}', 'node')`,
      [id, status],
    )
  await insertSession(database, 'd')
  await insertSession(database, 'e')
  await Promise.all([record('b', 'starting'), record('c', 'started'), record('d', 'stopped'), record('e', 'started')])
  const ended = await Promise.all([
    ...['b_1', 'c_1', 'd_1'].map((id) => deletions.deleteEmpty(id, 'lastParticipantLeft')),
    deletions.deleteEmpty('e_1', 'automaticStop'),
  ])
  expect(ended.map((session) => session?.id)).toEqual([undefined, undefined, 'd', 'e'])
  expect(await remaining()).toEqual(['a', 'b', 'c'])
})

it('a session without participants stays while a camera connects, unless it was kept for its recording alone', async () => {
  for (const id of ['b', 'c']) await insertParticipants(database, id, `camera_${id}`)
  await database.query(`UPDATE connection SET type = 'IPCAM', status = 'awaited' WHERE starts_with(id, 'camera')`)
  await database.query(`UPDATE session SET was_emptied = true WHERE id = 'b'`)
  const ended = await Promise.all(['b_1', 'c_1'].map((id) => deletions.deleteEmpty(id, 'automaticStop')))
  expect(ended.map((session) => [session?.id, session?.participants])).toEqual([
    ['b', []],
    [undefined, undefined],
  ])
  expect(await remaining()).toEqual(['a', 'c'])
})

it('a batch of deletions ends a session of which one deletion meets its condition', async () => {
  const ended = await Promise.all([
    deletions.deleteUnused('a_1'),
    deletions.deleteUse('a_1', 'sessionClosedByServer'),
    deletions.deleteUnused('a_1'),
  ])
  expect(ended.map((session) => session?.id)).toEqual([undefined, 'a', undefined])
  expect(await remaining()).toEqual(['b', 'c'])
})

it('a batch of deletions ends its other sessions while one is locked', async () => {
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM session WHERE id = 'a' FOR UPDATE`)
    const ends = ['b', 'a', 'c'].map((id) => deletions.delete(id, 'sessionClosedByServer'))
    const locked = expect(ends[1]).rejects.toThrow('lock')
    expect((await Promise.all([ends[0], ends[2]])).map((session) => session?.id)).toEqual(['b', 'c'])
    await locked
  } finally {
    await holder.rollbackTransaction()
    await holder.release()
  }
  expect(await remaining()).toEqual(['a'])
})

it('a batch of deletions locks its sessions in the order of their ids', async () => {
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM session WHERE id = 'b' FOR UPDATE`)
    const ends = Promise.all(['c', 'b', 'a'].map((id) => deletions.deleteUse(`${id}_1`, 'sessionClosedByServer')))
    await untilLocked('the deletion waits for the lock', database)
    await expect(database.query(`SELECT 1 FROM session WHERE id = 'a' FOR UPDATE NOWAIT`)).rejects.toThrow('lock')
    await database.query(`SELECT 1 FROM session WHERE id = 'c' FOR UPDATE NOWAIT`)
    await holder.commitTransaction()
    expect((await ends).map((session) => session?.id)).toEqual(['c', 'b', 'a'])
  } finally {
    if (holder.isTransactionActive) await holder.rollbackTransaction()
    await holder.release()
  }
})
