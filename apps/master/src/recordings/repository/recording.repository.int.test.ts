import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { ENTITIES } from '../../app/entities.js'
import { createDataSource } from '../../platform/database/data-source.js'
import { migrate } from '../../platform/database/migrate.js'
import { EventLog } from '../../events/event-log.js'
import { LOST_WITH_ITS_NODE } from './recording-reads.js'
import { RecordingRepository } from './recording.repository.js'
import { insertParticipants, insertSession } from '../../sessions/fixtures/rows.js'

const FILE = { size: 1, duration: 2, hasAudio: true, hasVideo: false, file: 'take.mp4' }
const CONFIG = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: true, SERVICE_WEBHOOK_EVENTS: ['recordingStatusChanged'] },
  ...{ SERVICE_EDITION: 'pro', SERVICE_RECORDING: true },
} as unknown as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let one: RecordingRepository
let other: RecordingRepository

beforeAll(async () => {
  database = await createTestDatabase()
  dataSource = await createDataSource(database.url, ENTITIES, () => undefined).initialize()
  await migrate(dataSource)
  const events = new EventLog(dataSource, CONFIG)
  const at = (master: string) => new RecordingRepository(dataSource, events, new ClusterClock(), CONFIG, master)
  one = at('one')
  other = at('other')
})
afterAll(async () => {
  await dataSource.destroy()
  await database.drop()
})

const told = (): Promise<unknown[]> => database.query('SELECT name FROM outbox')
const parts = (): Promise<Record<string, unknown>[]> =>
  database.query('SELECT part, ended FROM recording_part ORDER BY part')

let part: number
beforeEach(async () => {
  await database.query('DELETE FROM outbox')
  await database.query('DELETE FROM recording')
  await database.query('DELETE FROM session')
  await database.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
     VALUES ('take', 'take', 'take_1', 'stopped', 1, '{"name": "take"}', 'north')`,
  )
  const [row] = await database.query(
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch, started_at)
     VALUES ('take', 'north', 'boot', 1, 1) RETURNING part`,
  )
  part = Number(row?.part)
})
const file = { name: 'a.mp4', size: 1, hasAudio: true, hasVideo: true, startedAt: 1, endedAt: 2 }
const end = (files = [file], failure?: string) =>
  one.partEnded({ recordingId: 'take', part, files, ...(failure !== undefined && { failure }) }, false)

describe('a file that is made', () => {
  beforeEach(async () => {
    await end()
    expect(await one.claim('take')).toMatchObject({ id: 'take' })
  })
  const lapse = (): Promise<unknown> => database.query(`UPDATE recording SET claimed_until = now() - interval '1 s'`)

  it('is one master’s, until it is there', async () => {
    expect(await other.claim('take')).toBeUndefined()
    expect(await one.ready('take', FILE, [part])).toMatchObject({ status: 'ready', ...FILE })
    expect(await told()).toHaveLength(1)
  })

  it('is another master’s when the first was held up, who can neither finish nor give it up any more', async () => {
    await lapse()
    expect(await other.claim('take')).toMatchObject({ id: 'take' })
    expect(await one.renewClaim('take')).toBe(false)
    expect(await one.failed('take', 'its folder is gone')).toBeUndefined()
    expect(await one.ready('take', FILE, [part])).toBeUndefined()
    await one.retryLater('take', 0, true)
    expect(await told()).toEqual([])
    expect(await other.ready('take', FILE, [part])).toMatchObject({ status: 'ready' })
  })

  it('of a recording that is deleted meanwhile is nobody’s, and the id is taken until it cannot come any more', async () => {
    expect(await other.remove('take')).toMatchObject({ id: 'take' })
    expect(await one.renewClaim('take')).toBe(false)
    expect(await one.ready('take', FILE, [part])).toBeUndefined()
    await other.forgetRemoved('take')
    expect(await database.query('SELECT id FROM recording')).toHaveLength(1)
    expect(await one.unsettled()).toMatchObject([{ id: 'take', isRemoved: true, isClaimed: true }])
    await lapse()
    await other.forgetRemoved('take')
    expect(await database.query('SELECT id FROM recording')).toHaveLength(0)
  })
})

describe('a recording that is deleted', () => {
  it('is not there for anybody, though its files are yet to be removed', async () => {
    await end()
    expect(await one.remove('take')).toMatchObject({ id: 'take' })
    expect(await one.find('take')).toBeUndefined()
    expect(await one.page()).toEqual([])
    expect(await one.hasPart(part)).toBe(false)
    expect(await one.claim('take')).toBeUndefined()
    expect(await one.stop('take', 'recordingStoppedByServer')).toBeUndefined()
    expect(await one.unsettled()).toMatchObject([{ id: 'take', isRemoved: true, isClaimed: false }])
    await one.removeLater('take', 60)
    expect(await one.unsettled()).toMatchObject([{ id: 'take', isClaimed: true }])
    // Whoever asks again has it tried again.
    expect(await one.remove('take')).toMatchObject({ id: 'take' })
  })

  it('is forgotten with its files', async () => {
    await one.remove('take')
    await one.forgetRemoved('take')
    expect(await one.remove('take')).toBeUndefined()
    expect(await parts()).toEqual([])
  })
})

describe('a part that was given up', () => {
  it('is waited for also when its node comes back with nothing', async () => {
    await end([], LOST_WITH_ITS_NODE)
    expect(await end([], 'the media node died while it recorded')).toBeUndefined()
    expect(await parts()).toMatchObject([{ ended: { failure: LOST_WITH_ITS_NODE } }])
    expect(await end()).toMatchObject({ id: 'take' })
    expect(await parts()).toMatchObject([{ ended: { files: [{ name: 'a.mp4' }] } }])
  })
})

describe('the start of a recording', () => {
  const STARTED_AT = 1_000
  const start = async (): Promise<unknown> => {
    await database.query(`UPDATE recording SET status = 'starting'`)
    await database.query(`UPDATE recording_part SET started_at = NULL`)
    return one.started('take', part, STARTED_AT, 120)
  }
  const times = (): Promise<unknown[]> =>
    database.query(
      `SELECT payload::jsonb->'timestamp' AS timestamp, payload::jsonb->'startTime' AS "startTime" FROM outbox`,
    )

  it('is the time of its first media, in the recording and twice in its event', async () => {
    await insertSession(database, 'take')
    expect(await start()).toMatchObject({ status: 'started', createdAt: STARTED_AT })
    expect(await times()).toEqual([{ timestamp: STARTED_AT, startTime: STARTED_AT }])
    expect(await database.query('SELECT started_at::float8 AS at FROM recording_part')).toEqual([{ at: STARTED_AT }])
  })

  it('is told at the time of what was told of the session since, never before that', async () => {
    await insertSession(database, 'take')
    await database.query(`UPDATE session SET told_at = $1`, [STARTED_AT + 300])
    expect(await start()).toMatchObject({ createdAt: STARTED_AT })
    expect(await times()).toEqual([{ timestamp: STARTED_AT + 300, startTime: STARTED_AT }])
  })
})

describe('what nodes are to record', () => {
  it('are parts of live recordings that have not ended', async () => {
    await database.query(`UPDATE recording SET status = 'started'`)
    expect(await one.wanted([part])).toEqual(new Set([part]))
    await end()
    expect(await one.wanted([part])).toEqual(new Set())
  })
})

describe('delivered files', () => {
  it('are of no use any more once a recording is ready and waits for no part', async () => {
    await end()
    expect(await one.finished(['take'])).toEqual([])
    await one.claim('take')
    await one.ready('take', FILE, [part])
    expect(await one.finished(['take', 'other'])).toMatchObject([{ id: 'take' }])
    await database.query(`UPDATE recording_part SET ended = $1`, [
      JSON.stringify({ files: [], failure: LOST_WITH_ITS_NODE }),
    ])
    expect(await one.finished(['take'])).toEqual([])
  })
})

describe('the time of a recording that nobody publishes to', () => {
  it('is not over while somebody does who came at the same moment', async () => {
    await database.query(`UPDATE recording SET status = 'started', autostop_at = now() - interval '1 s'`)
    await insertSession(database, 'take')
    await insertParticipants(database, 'take', 'alice')
    await database.query(
      `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
       VALUES ('str', 'take', 'alice', 1, '{"hasAudio": true, "hasVideo": false, "filter": {}}')`,
    )
    expect(await one.overdue()).toEqual([])
    expect(await one.stopOverdue('take')).toBeUndefined()
    await database.query('DELETE FROM stream')
    expect(await one.overdue()).toMatchObject([{ id: 'take' }])
    expect(await one.stopOverdue('take')).toMatchObject({ status: 'stopped' })
  })
})
