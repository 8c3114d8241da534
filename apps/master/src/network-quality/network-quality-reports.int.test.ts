import type { NetworkQualityChange, SessionNotification } from '@session-service/contract'
import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { NetworkQualityReports } from './network-quality-reports.service.js'

const OFF = { SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_HISTORY: false } as unknown as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
})
afterAll(() => close())

it('notifies once of each level, whatever the order and number of the reports is', async () => {
  await insertSession(database, 'ses')
  await insertParticipants(database, 'ses', 'alice')
  const sent: unknown[] = []
  const broadcast = { notify: (_: string, { params }: SessionNotification) => void sent.push(params) }
  const reports = new NetworkQualityReports(
    new EventLog(dataSource, OFF),
    broadcast as unknown as SessionBroadcast,
    new ClusterClock(),
  )
  const changed = (more: Partial<NetworkQualityChange>): Promise<void> =>
    reports.changed({ roomId: 'ses_1', connectionId: 'alice', epoch: 1, revision: 1, level: 5, ...more })
  const connectionId = 'alice'
  await changed({})
  await changed({})
  expect(sent).toEqual([{ connectionId, newValue: 5 }])
  await changed({ revision: 3, level: 2 })
  await changed({ revision: 2, level: 4 })
  expect(sent.slice(1)).toEqual([{ connectionId, newValue: 2, oldValue: 5 }])
  // After a loss of the media another node counts from the start.
  await changed({ epoch: 2, revision: 1, level: 2 })
  await changed({ epoch: 1, revision: 9, level: 1 })
  await changed({ epoch: 2, revision: 2, level: 3 })
  expect(sent.slice(2)).toEqual([{ connectionId, newValue: 3, oldValue: 2 }])
  await changed({ connectionId: 'bob', revision: 10, level: 1 })
  await changed({ roomId: 'ses_2', epoch: 3, level: 1 })
  expect(sent).toHaveLength(3)
})

it('stores the reports of one moment in one transaction, and those of a participant one after another', async () => {
  await database.query('DELETE FROM session')
  for (const [session, ...participants] of [
    ['red', 'carol', 'dave'],
    ['blue', 'erin'],
  ] as const) {
    await insertSession(database, session)
    await insertParticipants(database, session, ...participants)
  }
  const sent: unknown[] = []
  const broadcast = {
    notify: (roomId: string, { params }: SessionNotification) => void sent.push([roomId, params]),
  } as unknown as SessionBroadcast
  const on = { SERVICE_PRO_DASHBOARD: true } as MasterConfig
  const reports = new NetworkQualityReports(new EventLog(dataSource, on), broadcast, new ClusterClock())
  const report = (roomId: string, connectionId: string, revision: number, level: number): Promise<void> =>
    reports.changed({ roomId, connectionId, epoch: 1, revision, level })
  await Promise.all([
    report('red_1', 'carol', 1, 4),
    report('blue_1', 'erin', 1, 3),
    report('red_1', 'carol', 2, 1),
    report('red_1', 'dave', 1, 5),
    report('blue_1', 'dave', 2, 0),
  ])
  expect(sent).toEqual([
    ['red_1', { connectionId: 'carol', newValue: 4 }],
    ['blue_1', { connectionId: 'erin', newValue: 3 }],
    ['red_1', { connectionId: 'carol', newValue: 1, oldValue: 4 }],
    ['red_1', { connectionId: 'dave', newValue: 5 }],
  ])
  const events = await database.query('SELECT payload, xmin::text AS transaction FROM recent_event')
  const transactions = Map.groupBy(events, ({ transaction }) => transaction)
  expect([...transactions.values()].map(({ length }) => length).toSorted()).toEqual([1, 3])
})
