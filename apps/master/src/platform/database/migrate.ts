import { ServiceError } from '@session-service/contract'
import type { DataSource } from 'typeorm'
import { InitialSchema1790000000056 } from './migrations/1790000000056-initial-schema.js'
import { execute, firstRow, rows } from './sql.js'

/** Any number that nothing else in the database locks. */
const MIGRATION_LOCK = 7_230_001

/** Names end with a timestamp of 13 digits, by which TypeORM orders migrations. */
const INITIAL = { name: InitialSchema1790000000056.name, timestamp: 1_790_000_000_056 }
/** Development versions had a chain of migrations; its last one left the schema that the initial migration makes. */
const LAST_OF_FORMER_CHAIN = 'RecordingRecovered1790000000055'

/** A row of the table that TypeORM keeps. */
interface ExecutedMigration {
  name: string
  timestamp: number
}

/** Runs the migrations. Of several masters that start at once one runs them; the others wait and find nothing to do. */
export async function migrate(dataSource: DataSource): Promise<void> {
  const lock = dataSource.createQueryRunner()
  await lock.connect()
  try {
    await execute(lock.manager, 'SET statement_timeout = 0')
    await execute(lock.manager, 'SET lock_timeout = 0')
    await execute(lock.manager, 'SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await checkExecutedMigrations(dataSource)
    await dataSource.runMigrations()
  } finally {
    await execute(lock.manager, 'SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
    for (const name of ['statement_timeout', 'lock_timeout'])
      await execute(lock.manager, `RESET ${name}`).catch(() => undefined)
    await lock.release()
  }
}

async function checkExecutedMigrations(dataSource: DataSource): Promise<void> {
  const table = await firstRow<{ present: boolean }>(
    dataSource,
    `SELECT to_regclass('migrations') IS NOT NULL AS present`,
  )
  if (!table?.present) return
  const executed = await rows<ExecutedMigration>(dataSource, 'SELECT name, "timestamp" FROM migrations')
  refuseNewerSchema(dataSource, executed)
  const former = executed.filter(({ timestamp }) => timestamp < INITIAL.timestamp)
  if (former.length > 0) await adopt(dataSource, former)
}

function refuseNewerSchema(dataSource: DataSource, executed: readonly ExecutedMigration[]): void {
  const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name))
  const newer = executed.filter(({ name, timestamp }) => timestamp >= INITIAL.timestamp && !known.has(name))
  if (newer.length === 0) return
  throw new ServiceError(
    'UNAVAILABLE',
    `the database schema is newer than this server: unknown migration ${newer.map(({ name }) => name).join(', ')}`,
  )
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
