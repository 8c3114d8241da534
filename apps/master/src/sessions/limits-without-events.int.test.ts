import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { RecordingProperties } from '@session-service/contract'
import type { DiscoveryService } from '@nestjs/core'
import type { DataSource } from 'typeorm'
import { ENTITIES } from '../app/entities.js'
import { AdmissionRepository } from '../connections/admission.repository.js'
import { EmptySessions } from '../connections/empty-sessions.js'
import { TokenReleaseRepository } from '../connections/token-release.repository.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { createDataSource } from '../platform/database/data-source.js'
import { migrate } from '../platform/database/migrate.js'
import { RecordingCreation } from '../recordings/repository/recording-creation.js'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { StreamRepository } from '../streams/stream.repository.js'
import { insertParticipants, insertSession } from './fixtures/rows.js'
import { SessionEndHooks } from './session-end-hooks.js'

/** Without events a join takes no lock, unless its session has a limit. */
const CONFIG = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_EDITION: 'pro' },
  SERVICE_RECORDING_MAX_CONCURRENT: 2,
} as unknown as MasterConfig

let database: TestDatabase
const sources: DataSource[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  // Masters count what others have committed, whatever the database sets.
  const name = new URL(database.url).pathname.slice(1)
  await database.query(`ALTER DATABASE "${name}" SET default_transaction_isolation = 'repeatable read'`)
  for (let master = 0; master < 2; master++)
    sources.push(await createDataSource(database.url, ENTITIES, () => undefined).initialize())
  await migrate(sources[0] as DataSource)
})
afterAll(async () => {
  for (const source of sources) await source.destroy()
  await database.drop()
})
beforeEach(async () => {
  await database.query('DELETE FROM recording')
  await database.query('DELETE FROM session')
  await insertSession(database, 'ses')
})

const masterOf = <T>(masters: readonly T[], nth: number): T => masters[nth % masters.length] as T
const admissionsOf = (dataSource: DataSource): AdmissionRepository =>
  new AdmissionRepository(dataSource, new EventLog(dataSource, CONFIG))
const taken = {
  clientData: '',
  ip: '127.0.0.1',
  platform: 'test',
  location: 'unknown',
  resumeHash: Buffer.from('resume'),
  masterId: 'one',
}
/** Runs concurrent changes that all wait for a lock before any of them continues. */
async function atOnce<T>(lock: string, waiting: number, run: () => Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
  const holder = (sources[0] as DataSource).createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(lock)
    const changes = Promise.allSettled(run())
    await untilLocked('the changes wait', database, (number) => number >= waiting)
    await holder.rollbackTransaction()
    return await changes
  } finally {
    await holder.release()
  }
}
const LOCK_SESSION = 'SELECT 1 FROM session FOR UPDATE'

const outcomes = (results: PromiseSettledResult<unknown>[]): string[] =>
  results
    .map((result) =>
      result.status === 'rejected'
        ? String((result.reason as { code?: string }).code)
        : result.value === undefined
          ? 'no such token'
          : 'joined',
    )
    .toSorted()

it('admits exactly the maximum of participants when two masters take their tokens concurrently', async () => {
  const ids = Array.from({ length: 20 }, (_, nth) => `con_${nth}`)
  await insertParticipants(database, 'ses', ...ids)
  await database.query(`UPDATE connection SET status = 'pending'`)
  await database.query('UPDATE session SET max_participants = 10, max_duration = 60')
  const masters = sources.map(admissionsOf)
  const results = await atOnce(LOCK_SESSION, masters.length, () =>
    ids.map((id, nth) => masterOf(masters, nth).take(Buffer.from(id), { ...taken, resumeHash: Buffer.from(id) })),
  )
  expect(outcomes(results)).toEqual([...Array<string>(10).fill('LIMIT_REACHED'), ...Array<string>(10).fill('joined')])
  const [session] = await database.query('SELECT ends_at > clock_timestamp() AS ends FROM session')
  expect(session).toEqual({ ends: true })
})

it('admits a token once, and says that a used one is not valid, while the session has its maximum', async () => {
  await insertParticipants(database, 'ses', 'alice')
  await database.query(`UPDATE connection SET status = 'pending'`)
  await database.query('UPDATE session SET max_participants = 1')
  const masters = sources.map(admissionsOf)
  const results = await Promise.allSettled(masters.map((master) => master.take(Buffer.from('alice'), taken)))
  expect(outcomes(results)).toEqual(['joined', 'no such token'])
})

it('starts the maximum duration with the first join that succeeds, and not again', async () => {
  await insertParticipants(database, 'ses', 'alice', 'bob')
  await database.query(`UPDATE connection SET status = 'pending'`)
  await database.query('UPDATE session SET max_duration = 60')
  const [source] = sources as [DataSource]
  const noHooks = new SessionEndHooks({ getProviders: () => [] } as unknown as DiscoveryService)
  const [events, clock] = [new EventLog(source, CONFIG), new ClusterClock()]
  const tokens = new TokenReleaseRepository(events, new EmptySessions(events, noHooks, clock), clock)
  const take = (id: string) => admissionsOf(source).take(Buffer.from(id), { ...taken, resumeHash: Buffer.from(id) })
  const endsAt = async () => (await database.query('SELECT ends_at FROM session'))[0]?.ends_at
  await take('alice')
  expect(await endsAt()).not.toBeNull()
  await tokens.release('alice')
  expect(await endsAt()).toBeNull()
  await take('alice')
  const end = await endsAt()
  await take('bob')
  await tokens.release('bob')
  expect(await endsAt()).toEqual(end)
})

it('admits exactly the maximum of streams when two masters insert those of one participant', async () => {
  await insertParticipants(database, 'ses', 'alice', 'bob')
  await database.query(
    `UPDATE session SET max_streams = 5, media_node_id = 'node', media_node_boot_id = 'boot', media_epoch = 1`,
  )
  const masters = sources.map(
    (source) => new StreamRepository(source, new EventLog(source, CONFIG), new ClusterClock()),
  )
  const insert = (connectionId: string, nth: number) =>
    masterOf(masters, nth).insert({
      id: `${connectionId}_${nth}`,
      sessionId: 'ses',
      connectionId,
      createdAt: nth,
      mediaOptions: { hasAudio: true, hasVideo: false, filter: {} },
      mediaEpoch: 1,
      maxStreams: 5,
    })
  const results = await atOnce(LOCK_SESSION, 2, () =>
    ['alice', 'bob'].flatMap((id) => Array.from({ length: 10 }, (_, nth) => insert(id, nth))),
  )
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(refused).toMatchObject(Array.from({ length: 10 }, () => ({ code: 'LIMIT_REACHED' })))
  const counts = await database.query('SELECT count(*)::integer AS n FROM stream GROUP BY connection_id')
  expect(counts).toEqual([{ n: 5 }, { n: 5 }])
})

it('admits exactly the maximum of recordings when two masters start those of different sessions', async () => {
  const ids = ['a', 'b', 'c', 'd']
  for (const id of ids) await insertSession(database, id)
  await database.query(`UPDATE session SET media_node_id = 'node', media_node_boot_id = 'boot', media_epoch = 1`)
  const masters = sources.map(
    (source, nth) =>
      new RecordingCreation(source, new EventLog(source, CONFIG), new ClusterClock(), CONFIG, `master_${nth}`),
  )
  // Counting is possible meanwhile, inserting is not.
  const results = await atOnce('LOCK TABLE recording IN SHARE MODE', ids.length, () =>
    ids.map((id, nth) => masterOf(masters, nth).create(id, () => RecordingProperties.parse({ name: id }))),
  )
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(refused).toMatchObject(Array.from({ length: 2 }, () => ({ code: 'NO_CAPACITY' })))
  expect(await database.query('SELECT 1 FROM recording')).toHaveLength(2)
})
