import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { CreateSessionBody, RecordingProperties } from '@session-service/contract'
import { ReferenceClock } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { rows } from '../platform/database/sql.js'
import { signalSent } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { type NewSubscription, SubscriptionRepository } from '../streams/subscription.repository.js'
import type { NewSession } from './session-inserts.js'
import { SessionRepository } from './session.repository.js'
import { SessionsService } from './sessions.service.js'
import { insertParticipants } from './fixtures/rows.js'

const CONFIG = {
  SERVICE_CDR: false,
  SERVICE_WEBHOOK: false,
  SERVICE_RECORDING: false,
  SERVICE_SESSIONS_MAX_CONCURRENT: 0,
} as unknown as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let clock: ClusterClock
let events: EventLog

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  clock = new ClusterClock()
  events = new EventLog(dataSource, CONFIG)
})
afterAll(() => close())

const session = (id: string): NewSession => ({
  id,
  uniqueSessionId: `${id}_1`,
  createdAt: 1,
  mediaMode: 'ROUTED',
  recordingMode: 'MANUAL',
  hasCustomId: true,
  forcedVideoCodec: 'VP8',
  allowTranscoding: false,
  recordingProperties: RecordingProperties.parse({}),
  forcedNodeId: null,
  maxParticipants: null,
  maxStreams: null,
  maxDuration: null,
})

/** Two writers write the same three items in opposite orders while a third transaction holds the middle one. */
async function writeAtOnce<T>(
  hold: string,
  [one, other]: [(item: T) => Promise<true>, (item: T) => Promise<true>],
  items: [T, T, T],
): Promise<PromiseSettledResult<true>[]> {
  const holder = dataSource.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(hold)
    const written = Promise.allSettled([...items.map(one), ...items.toReversed().map(other)])
    await untilLocked('both writers wait', database, (waiting) => waiting === 2)
    await holder.rollbackTransaction()
    return await written
  } finally {
    await holder.release()
  }
}

const newRepository = (log: EventLog = events): SessionRepository => new SessionRepository(dataSource, log, CONFIG)

it.each([
  { ids: 'generated', hasCustomId: false },
  { ids: 'custom', hasCustomId: true },
])(
  'sessions with $ids ids are inserted by a plan that is kept, not made for each batch',
  async ({ ids, hasCustomId }) => {
    const planned = async (): Promise<number> => {
      const [count] = await rows<{ generic: number }>(
        dataSource.manager,
        `SELECT coalesce(sum(generic_plans), 0)::integer AS generic FROM pg_prepared_statements
       WHERE statement LIKE '%INSERT INTO session%'`,
      )
      return count?.generic ?? 0
    }
    const repository = newRepository()
    const before = await planned()
    // One query after another uses the same connection to the database.
    for (let nth = 0; nth < 7; nth++) {
      const batch = ['a', 'b'].map((name) => ({ ...session(`${ids}_${name}_${nth}`), hasCustomId }))
      await Promise.all(batch.map((item) => repository.insert(item)))
    }
    // Postgres may keep the plan of a prepared statement after five executions.
    expect((await planned()) - before).toBe(2)
  },
)

it('a generated id that exists is refused, and the others of its batch are inserted', async () => {
  const repository = newRepository()
  const generated = (id: string): NewSession => ({ ...session(id), hasCustomId: false })
  await repository.insert(generated('taken'))
  const batch = ['first', 'taken', 'last'].map((id) => repository.insert(generated(id)))
  expect(await Promise.allSettled(batch)).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'CONFLICT' } },
    { status: 'fulfilled' },
  ])
})

it('a later event of a session is not earlier than that of its creation, also by a clock that is behind', async () => {
  const lines: object[] = []
  const write = (line: object): void => void lines.push(line)
  Logger.overrideLogger({ log: write, debug: write, error: write, warn: write })
  const log = new EventLog(dataSource, { ...CONFIG, SERVICE_CDR: true, SERVICE_LOG_EVENTS: true })
  const created = { ...session('timed'), createdAt: 5_000 }
  await newRepository(log).insert(created)
  const signal = signalSent(created, { from: null, to: [], type: '', data: '' }, 4_990)
  await log.transaction((_, record) => record(signal))
  Logger.overrideLogger(true)
  expect(lines).toEqual([5_000, 5_000].map((timestamp) => expect.objectContaining({ timestamp })))
  expect(
    await database.query(`SELECT name, payload::jsonb->'timestamp' AS timestamp FROM outbox ORDER BY position`),
  ).toEqual([
    { name: 'sessionCreated', timestamp: 5_000 },
    { name: 'signalSent', timestamp: 5_000 },
  ])
})

it.each([0, 100])('a session is created again when its deletion ends, with the limit %i', async (most) => {
  const repository = new SessionRepository(dataSource, events, { ...CONFIG, SERVICE_SESSIONS_MAX_CONCURRENT: most })
  await repository.insert(session('again'))
  const deletion = dataSource.createQueryRunner()
  await deletion.startTransaction()
  try {
    await deletion.query(`DELETE FROM session WHERE id = 'again'`)
    const created = repository.insert(session('again'))
    await untilLocked('the creation waits', database)
    expect(await repository.insert(session('meanwhile'))).toBe(true)
    await deletion.commitTransaction()
    expect(await created).toBe(true)
  } finally {
    await deletion.release()
    await database.query(`DELETE FROM session WHERE id IN ('again', 'meanwhile')`)
  }
})

it('two uses of a custom id have different unique ids also while the clock stands still', async () => {
  const config = { ...CONFIG, SERVICE_EDITION: 'ce' } as MasterConfig
  const still = new ClusterClock(new ReferenceClock(() => 0, 7_000))
  const unused = undefined as never
  const body = CreateSessionBody.parse({ customSessionId: 'daily', forcedVideoCodec: 'VP8', allowTranscoding: false })
  const sessions = [newRepository(), unused, unused, unused, unused, unused, unused, still, config] as const
  const service = new SessionsService(...sessions)
  const create = async (): Promise<number> => {
    const { createdAt } = await service.create(body)
    const [stored] = await database.query(`DELETE FROM session WHERE id = 'daily' RETURNING unique_id`)
    expect(stored).toEqual({ unique_id: `daily_${createdAt}` })
    return createdAt
  }
  expect([await create(), await create()]).toEqual([7_000, 7_001])
})

it('creates each session once when two masters create the same sessions in opposite orders', async () => {
  const [one, other] = [newRepository(), newRepository()]
  const items: [NewSession, NewSession, NewSession] = [session('a'), session('m'), session('z')]
  const results = await writeAtOnce(
    `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                          allow_transcoding, recording_properties)
     VALUES ('m', 'm_1', 1, 'ROUTED', 'MANUAL', true, 'VP8', false, '{}')`,
    [(item) => one.insert(item), (item) => other.insert(item)],
    items,
  )
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(refused).toMatchObject(items.map(() => ({ code: 'CONFLICT' })))
})

it('writes all subscriptions without a deadlock when two masters write them in opposite orders', async () => {
  await database.query(
    `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                          allow_transcoding, recording_properties, media_node_id, media_node_boot_id, media_epoch)
     VALUES ('ses', 'ses_1', 1, 'ROUTED', 'MANUAL', false, 'VP8', false, '{}', 'node', 'boot', 1)`,
  )
  await insertParticipants(database, 'ses', 'alice', 'bob')
  await database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     SELECT id, 'ses', 'alice', 1, '{}' FROM unnest(ARRAY['a', 'm', 'z']) AS id`,
  )
  const [one, other] = [new SubscriptionRepository(events, clock), new SubscriptionRepository(events, clock)]
  const subscription = (streamId: string): NewSubscription => ({
    connectionId: 'bob',
    streamId,
    createdAt: 1,
    mediaEpoch: 1,
  })
  const results = await writeAtOnce(
    `INSERT INTO subscription (connection_id, stream_id, created_at) VALUES ('bob', 'm', 1)`,
    [(item) => one.insert(item), (item) => other.insert(item)],
    [subscription('a'), subscription('m'), subscription('z')],
  )
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['fulfilled']))
})
