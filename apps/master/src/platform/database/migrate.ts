import { ServiceError } from '@session-service/contract'
import { parseJson } from '@session-service/config'
import type { DataSource } from 'typeorm'
import { z } from 'zod'
import { InitialSchema1790000000056 } from './migrations/1790000000056-initial-schema.js'
import { MIGRATIONS, OLDEST_COMPATIBLE } from './migrations/index.js'
import { schemaState, type ExecutedMigration, type SchemaRecord, type SchemaState } from './schema-state.js'
import { execute, firstRow, rows } from './sql.js'

/** Any number that nothing else in the database locks. */
const MIGRATION_LOCK = 7_230_001

/** Names end with a timestamp of 13 digits, by which TypeORM orders migrations. */
const INITIAL = { name: InitialSchema1790000000056.name, timestamp: 1_790_000_000_056 }
/** Development versions had a chain of migrations; its last one left the schema that the initial migration makes. */
const LAST_OF_FORMER_CHAIN = 'RecordingRecovered1790000000055'

/**
 * Runs the migrations. Of several processes that do so at once one runs them; the others wait and find nothing to do.
 * On a compatible schema of a later version there is nothing to do either.
 */
export async function migrate(dataSource: DataSource): Promise<SchemaState> {
  const lock = dataSource.createQueryRunner()
  await lock.connect()
  try {
    await execute(lock.manager, 'SET statement_timeout = 0')
    await execute(lock.manager, 'SET lock_timeout = 0')
    await execute(lock.manager, 'SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    const state = await readSchemaState(dataSource)
    if (state.kind === 'older') await runMigrations(dataSource)
    return state
  } finally {
    await execute(lock.manager, 'SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
    for (const name of ['statement_timeout', 'lock_timeout'])
      await execute(lock.manager, `RESET ${name}`).catch(() => undefined)
    await lock.release()
  }
}

async function runMigrations(dataSource: DataSource): Promise<void> {
  const former = (await executedMigrations(dataSource)).filter(({ timestamp }) => timestamp < INITIAL.timestamp)
  if (former.length > 0) await adopt(dataSource, former)
  await dataSource.runMigrations()
  // A comment: the versions before this one do not expect another table, and pg_dump keeps it.
  const comment = JSON.stringify({ schema: LAST, oldestServer: timestampOf(OLDEST_COMPATIBLE.name) })
  await execute(dataSource, `COMMENT ON TABLE migrations IS '${comment}'`)
}

/** @throws ServiceError UNAVAILABLE for a schema on which this version cannot work */
export async function readSchemaState(dataSource: DataSource): Promise<SchemaState> {
  const executed = await executedMigrations(dataSource)
  const names = MIGRATIONS.map(({ name }) => name)
  const state = schemaState(
    { executed, record: executed.length > 0 ? await readRecord(dataSource) : undefined },
    {
      names,
      first: INITIAL.timestamp,
      last: LAST,
      oldestServer: timestampOf(OLDEST_COMPATIBLE.name),
    },
  )
  if (state.kind !== 'newer' || state.isCompatible) return state
  throw new ServiceError(
    'UNAVAILABLE',
    `the database schema is newer than this server: unknown migration ${state.unknown.join(', ')}`,
  )
}

const timestampOf = (name: string): number => Number(name.slice(-13))
const LAST = Math.max(...MIGRATIONS.map(({ name }) => timestampOf(name)))

async function executedMigrations(dataSource: DataSource): Promise<ExecutedMigration[]> {
  const table = await firstRow<{ present: boolean }>(
    dataSource,
    `SELECT to_regclass('migrations') IS NOT NULL AS present`,
  )
  return table?.present ? rows<ExecutedMigration>(dataSource, 'SELECT name, "timestamp" FROM migrations') : []
}

const Comment = z.preprocess(
  (text) => parseJson(String(text)),
  z.object({ schema: z.number(), oldestServer: z.number() }),
)

async function readRecord(dataSource: DataSource): Promise<SchemaRecord | undefined> {
  const row = await firstRow<{ comment: string | null }>(
    dataSource,
    `SELECT obj_description('migrations'::regclass, 'pg_class') AS comment`,
  )
  return Comment.safeParse(row?.comment).data
}

/** Keeps the data of a database that the former chain migrated completely: only its list of migrations changes. */
async function adopt(dataSource: DataSource, former: readonly ExecutedMigration[]): Promise<void> {
  if (!former.some(({ name }) => name === LAST_OF_FORMER_CHAIN)) {
    throw new ServiceError(
      'UNAVAILABLE',
      `the database schema is of an unsupported development version (no migration ${LAST_OF_FORMER_CHAIN}): ` +
        'use an empty database (npm start -- --reset makes one)',
    )
  }
  await dataSource.transaction(async (manager) => {
    await execute(manager, 'DELETE FROM migrations WHERE "timestamp" < $1', [INITIAL.timestamp])
    await execute(manager, 'INSERT INTO migrations (name, "timestamp") VALUES ($1, $2)', [
      INITIAL.name,
      INITIAL.timestamp,
    ])
  })
}
