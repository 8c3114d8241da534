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
