import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import type { SessionEndHooks } from '../sessions/session-end-hooks.js'
import { DepartureRepository } from './departure.repository.js'
import { EmptySessions } from './empty-sessions.js'

let database: TestDatabase
let source: DataSource
let close: MasterDatabase['close']

beforeAll(async () => {
  ;({ database, dataSource: source, close } = await openMasterDatabase())
})
afterAll(() => close())

it('ends the sessions of several last participants in one transaction, and keeps those that a hook keeps', async () => {
  for (const [session, ...participants] of [
    ['red', 'alice', 'anna'],
    ['blue', 'bob'],
    ['green', 'carol'],
  ] as const) {
    await insertSession(database, session)
    await insertParticipants(database, session, ...participants)
  }
  await insertParticipants(database, 'blue', 'camera')
  await database.query(`UPDATE connection SET type = 'IPCAM', active_at = 2 WHERE id = 'camera'`)
  const calls: string[] = []
  const hooks: Pick<SessionEndHooks, 'keep' | 'end'> = {
    keep: async (_manager, emptied) => {
      calls.push(...emptied.map(({ uniqueSessionId, reason }) => `keep ${uniqueSessionId} ${reason}`))
      return new Set(['green_1'])
    },
    end: async (_manager, ending) => {
      calls.push(...ending.map(({ uniqueSessionId, reason }) => `end ${uniqueSessionId} ${reason}`))
      return new Map([['red_1', { events: [], recordingIds: ['red'] }]])
    },
  }
  const [events, clock] = [new EventLog(source, { SERVICE_CDR: true } as MasterConfig), new ClusterClock()]
  const departures = new DepartureRepository(events, new EmptySessions(events, hooks as SessionEndHooks, clock), clock)
  const removed = await Promise.all([
    departures.remove('alice', 'disconnect'),
    departures.remove('bob', 'networkDisconnect'),
    departures.remove('carol', 'disconnect'),
    departures.remove('anna', 'forceDisconnectByServer'),
  ])
  expect(calls).toEqual([
    'keep red_1 forceDisconnectByServer',
    'keep blue_1 networkDisconnect',
    'keep green_1 disconnect',
    'end red_1 lastParticipantLeft',
    'end blue_1 lastParticipantLeft',
  ])
  expect(removed.map((one) => [one?.connectionId, one?.sessionEnded, one?.recordingIds])).toEqual([
    ['alice', false, []],
    ['bob', true, []],
    ['carol', false, []],
    ['anna', true, ['red']],
  ])
  expect(await database.query('SELECT id, was_emptied FROM session')).toEqual([{ id: 'green', was_emptied: true }])
  const recorded = await database.query('SELECT name, payload, xmin::text FROM outbox ORDER BY position')
  const ofSession = (id: string): string[] =>
    recorded.flatMap(({ name, payload }) => {
      const { sessionId, participantId = '', reason } = JSON.parse(String(payload)) as Record<string, string>
      return sessionId === id ? [`${String(name)} ${participantId} ${reason}`] : []
    })
  expect(ofSession('red')).toEqual([
    'participantLeft alice disconnect',
    'participantLeft anna forceDisconnectByServer',
    'sessionDestroyed  lastParticipantLeft',
  ])
  expect(ofSession('blue')).toEqual([
    'participantLeft bob networkDisconnect',
    'participantLeft camera lastParticipantLeft',
    'sessionDestroyed  lastParticipantLeft',
  ])
  expect(ofSession('green')).toEqual(['participantLeft carol disconnect'])
  expect(new Set(recorded.map(({ xmin }) => xmin)).size).toBe(1)
})
