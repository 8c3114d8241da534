import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { STOPPED_CAMERAS } from '../connections/camera.repository.js'
import {
  HELD_PARTICIPANTS,
  LEFT_BEHIND_PARTICIPANTS,
  OVERDUE_PARTICIPANTS,
} from '../connections/presence.repository.js'
import { createDataSource } from '../platform/database/data-source.js'
import { migrate } from '../platform/database/migrate.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { EXPIRED_SESSIONS } from '../sessions/session.repository.js'
import { ENTITIES } from './entities.js'

/** Some pages of indexes; the tables of the test have hundreds. */
const MOST_PAGES = 40

/** Each SELECT with a change of the participant `ann` that makes its job due. */
const SELECTS: [name: string, select: string, change: string][] = [
  ['expired', EXPIRED_SESSIONS, `UPDATE session SET ends_at = now() - interval '1 s' WHERE id = 'one'`],
  ['overdue', OVERDUE_PARTICIPANTS, `UPDATE connection SET evict_at = now() - interval '1 s' WHERE id = 'ann'`],
  ['held', HELD_PARTICIPANTS, `UPDATE connection SET master_id = 'm5' WHERE id = 'ann'`],
  ['left_behind', LEFT_BEHIND_PARTICIPANTS, `UPDATE connection SET master_id = 'm6' WHERE id = 'ann'`],
  ['stopped', STOPPED_CAMERAS, `UPDATE connection SET type = 'IPCAM', camera = '{}' WHERE id = 'ann'`],
]

let database: TestDatabase
/** One connection: its plans are those for empty tables. */
let client: Client

beforeAll(async () => {
  database = await createTestDatabase()
  const dataSource = await createDataSource(database.url, ENTITIES, () => undefined).initialize()
  await migrate(dataSource)
  await dataSource.destroy()
  await database.query(`INSERT INTO master (id, alive_at, uri) VALUES ('m5', now(), '')`)
  client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('SET plan_cache_mode = force_generic_plan')
  for (const [name, select] of SELECTS) await client.query(`PREPARE ${name} AS SELECT EXISTS (${select}) AS is_due`)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

async function isDue(name: string): Promise<boolean> {
  const { rows } = await client.query<{ is_due: boolean }>(`EXECUTE ${name}`)
  return rows[0]?.is_due === true
}

/** The pages that an execution of the statement reads. */
async function pagesOf(name: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${name}`,
  )
  const plan = rows[0]?.['QUERY PLAN'][0].Plan
  return (plan?.['Shared Hit Blocks'] ?? NaN) + (plan?.['Shared Read Blocks'] ?? NaN)
}

describe.each(SELECTS)('work that is due: %s', (name, _, change) => {
  it('is found when there is some, and not before', async () => {
    await database.query('DELETE FROM session')
    await insertSession(database, 'one')
    await insertParticipants(database, 'one', 'ann')
    expect(await isDue(name)).toBe(false)
    await database.query(change)
    expect(await isDue(name)).toBe(true)
  })
})

describe('work that is due in large tables, with a plan that was made for empty ones', () => {
  beforeAll(async () => {
    await database.query('DELETE FROM session')
    await insertSession(database, 'one')
    const ids = Array.from({ length: 10_000 }, (_, nth) => `con_${nth}`)
    await insertParticipants(database, 'one', ...ids)
    await database.query(`UPDATE connection SET master_id = 'm5' WHERE id LIKE '%1'`)
    await database.query(
      `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                            allow_transcoding, recording_properties)
       SELECT 'ses' || n, 'ses' || n, 1, 'ROUTED', 'MANUAL', false, 'VP8', false, '{}' FROM generate_series(1, 10000) n`,
    )
  })

  it.each(SELECTS)('is looked up by index: %s', async (name) => {
    expect(await isDue(name)).toBe(name === 'held')
    expect(await pagesOf(name)).toBeLessThan(MOST_PAGES)
  })
})
