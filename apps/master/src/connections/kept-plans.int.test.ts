import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DiscoveryService } from '@nestjs/core'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import { AdmissionRepository } from './admission.repository.js'
import { DepartureRepository } from './departure.repository.js'
import { EmptySessions } from './empty-sessions.js'

const TAKEN = { clientData: '', ip: '127.0.0.1', platform: 'test', location: 'unknown', masterId: 'one' }
const TABLES = ['session', 'connection', 'stream', 'subscription']

let database: TestDatabase
let close: MasterDatabase['close']
let admissions: AdmissionRepository
let departures: DepartureRepository

beforeAll(async () => {
  const opened = await openMasterDatabase()
  ;({ database, close } = opened)
  const [events, clock] = [new EventLog(opened.dataSource, { SERVICE_CDR: true } as MasterConfig), new ClusterClock()]
  const noHooks = new SessionEndHooks({ getProviders: () => [] } as unknown as DiscoveryService)
  admissions = new AdmissionRepository(opened.dataSource, events)
  departures = new DepartureRepository(events, new EmptySessions(events, noHooks, clock), clock)
})
afterAll(() => close())

it('joins and departures end in time by plans that were kept from small tables', async () => {
  const ids = Array.from({ length: 20 }, (_, nth) => `con_${nth}`)
  await insertSession(database, 'ses')
  await insertParticipants(database, 'ses', 'alice', ...ids)
  await database.query(`UPDATE connection SET status = 'pending' WHERE id <> 'alice'`)
  for (const table of TABLES) await database.query(`VACUUM ANALYZE ${table}`)
  const joinAndLeave = async (id: string) => [
    await admissions.take(Buffer.from(id), { ...TAKEN, resumeHash: Buffer.from(id) }),
    await departures.remove(id, 'disconnect'),
  ]
  for (const id of ids.slice(1)) await joinAndLeave(id)
  await database.query(
    `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                          allow_transcoding, recording_properties)
     SELECT 's' || i, 's' || i, 1, 'ROUTED', 'MANUAL', false, 'VP8', false, '{}' FROM generate_series(1, 20000) AS i`,
  )
  await database.query(
    `INSERT INTO connection (id, session_id, type, status, created_at, active_at, server_data, record, role,
                             ice_servers, token_nonce, token_hash)
     SELECT 'c' || i, 's' || i, 'WEBRTC', 'active', 1, 1, '', false, 'PUBLISHER', '[]', '', ('c' || i)::bytea
     FROM generate_series(1, 20000) AS i`,
  )
  // A plan that reads a table once for each row of another one would meet the time-out of statements.
  expect(await joinAndLeave('con_0')).toMatchObject([{ connectionId: 'con_0' }, { connectionId: 'con_0' }])
})
