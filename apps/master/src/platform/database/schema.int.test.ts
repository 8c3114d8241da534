import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { ENTITIES } from '../../app/entities.js'
import { createDataSource } from './data-source.js'
import { migrate } from './migrate.js'
import { MIGRATIONS, OLDEST_COMPATIBLE } from './migrations/index.js'

/** The default 0 of a bigint, which TypeORM writes as a text literal with a cast. */
const QUOTED_NUMBER = `^'(\\d+)'::.*$`
/** Every column, constraint and index of the tables that entities declare, one line each. */
const CATALOG = `
  SELECT format('%s.%s %s%s default %s identity %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attnotnull THEN ' not null' END,
    regexp_replace(pg_get_expr(d.adbin, d.adrelid), $1, '\\1'), a.attidentity) AS line
  FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations'
  UNION ALL
  SELECT format('%s %s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> 'migrations'
  UNION ALL
  SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'migrations'
  ORDER BY line
`
/** The last migrations of the chain that development versions had. */
const FORMER_CHAIN = [
  [1790000000000, 'InitialSchema1790000000000'],
  [1790000000050, 'MediaNodeFlapping1790000000050'],
  [1790000000055, 'RecordingRecovered1790000000055'],
] as const

let database: TestDatabase
let dataSource: DataSource

beforeEach(async () => {
  database = await createTestDatabase()
  dataSource = await createDataSource(database.url, ENTITIES, () => undefined).initialize()
})

afterEach(async () => {
  await dataSource.destroy()
  await database.drop()
})

const catalog = async (): Promise<string[]> =>
  (await dataSource.query<{ line: string }[]>(CATALOG, [QUOTED_NUMBER])).map(({ line }) => line)

/** Statements by which TypeORM would make the schema what the entities declare. */
const statements = async (): Promise<string[]> =>
  (await dataSource.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query)

const migrationNames = async (): Promise<unknown[]> =>
  (await database.query('SELECT name FROM migrations ORDER BY id')).map(({ name }) => name)

/** The schema of the initial migration alone. */
async function migrateInitially(): Promise<void> {
  await migrate(dataSource)
  for (const _ of MIGRATIONS.slice(1)) await dataSource.undoLastMigration({ transaction: 'all' })
}

/** As a development version left the database when it had run these migrations. */
async function pretendMigratedBy(chain: readonly (readonly [number, string])[]): Promise<void> {
  await database.query('DELETE FROM migrations')
  for (const row of chain) await database.query('INSERT INTO migrations ("timestamp", name) VALUES ($1, $2)', [...row])
}

describe('the schema', () => {
  it('needs no further statement for what the entities declare', async () => {
    await migrate(dataSource)
    expect(await statements()).toEqual([])
  })

  // The schema builder compares neither conditions of indexes, nor expressions of checks, nor kinds of identity.
  it('has the columns, constraints and indexes that the entities declare', async () => {
    await migrate(dataSource)
    const migrated = await catalog()
    await dataSource.dropDatabase()
    await dataSource.synchronize()
    expect(migrated).toEqual(await catalog())
  })

  it.each([
    ['a missing index', 'DROP INDEX session_created'],
    ['a missing column', 'ALTER TABLE media_node DROP COLUMN crash_count'],
    ['an unknown column', 'ALTER TABLE stream ADD COLUMN extra text'],
    ['another type', 'ALTER TABLE recording ALTER COLUMN attempts TYPE bigint'],
    ['another default', 'ALTER TABLE master ALTER COLUMN nodes_heard SET DEFAULT 1'],
    ['a column that may be null', 'ALTER TABLE outbox ALTER COLUMN payload DROP NOT NULL'],
  ])('is found to differ from the entities with %s', async (_, drift) => {
    await migrate(dataSource)
    await database.query(drift)
    expect(await statements()).not.toEqual([])
  })

  // TypeORM has no option for unlogged tables: only the migration declares it.
  it('keeps recent signals and events, and nothing else, in unlogged tables', async () => {
    await migrate(dataSource)
    const unlogged = `SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY 1`
    expect(await database.query(unlogged)).toEqual([{ relname: 'recent_event' }, { relname: 'recent_signal' }])
  })

  // Postgres 15 and later make the sequence of an unlogged table unlogged as well.
  it('keeps no sequence that a crash of the database resets', async () => {
    await migrate(dataSource)
    const sequences = `SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'S'`
    expect(await database.query(sequences)).toEqual([])
  })

  it('is removed completely by undoing the migrations', async () => {
    await migrate(dataSource)
    for (const _ of MIGRATIONS) await dataSource.undoLastMigration({ transaction: 'all' })
    expect(await catalog()).toEqual([])
  })
})

describe('a database that a development version migrated', () => {
  it('is adopted with its data if its schema is complete', async () => {
    await migrateInitially()
    await pretendMigratedBy(FORMER_CHAIN)
    const [before] = await database.query('SELECT id FROM cluster')

    await migrate(dataSource)

    expect(await migrationNames()).toEqual(MIGRATIONS.map(({ name }) => name))
    expect(await database.query('SELECT id FROM cluster')).toEqual([before])
    expect(await statements()).toEqual([])
  })

  it('is refused unchanged, with the reason, if its schema is older', async () => {
    await migrate(dataSource)
    await pretendMigratedBy(FORMER_CHAIN.slice(0, -1))
    const before = await catalog()

    await expect(migrate(dataSource)).rejects.toThrow(
      'unsupported development version (no migration RecordingRecovered1790000000055): use an empty database',
    )

    expect(await migrationNames()).toEqual(FORMER_CHAIN.slice(0, -1).map(([, name]) => name))
    expect(await catalog()).toEqual(before)
  })

  it('is refused if its schema is newer', async () => {
    await migrate(dataSource)
    await pretendMigratedBy([...FORMER_CHAIN, [9999999999999, 'Tomorrow9999999999999']])
    await expect(migrate(dataSource)).rejects.toThrow('unknown migration Tomorrow9999999999999')
  })
})

describe('a database that a later version migrated', () => {
  const COMMENT = `SELECT obj_description('migrations'::regclass, 'pg_class') AS text`
  /** As the migrations of a later version leave it. */
  async function migrateByLaterVersion(oldestServer: number): Promise<void> {
    await migrate(dataSource)
    await database.query(`ALTER TABLE session ADD COLUMN of_tomorrow text`)
    await database.query(`INSERT INTO migrations ("timestamp", name) VALUES (9999999999999, 'Tomorrow9999999999999')`)
    await database.query(`COMMENT ON TABLE migrations IS '{"schema":9999999999999,"oldestServer":${oldestServer}}'`)
  }

  it('is used unchanged if it names this version or an earlier one as its oldest server', async () => {
    await migrateByLaterVersion(Number(OLDEST_COMPATIBLE.name.slice(-13)))
    const [before, comment] = [await catalog(), await database.query(COMMENT)]
    expect(await migrate(dataSource)).toEqual({
      kind: 'newer',
      unknown: ['Tomorrow9999999999999'],
      isCompatible: true,
    })
    expect([await catalog(), await database.query(COMMENT)]).toEqual([before, comment])
  })

  it('is refused if it names a later version', async () => {
    await migrateByLaterVersion(9999999999999)
    await expect(migrate(dataSource)).rejects.toThrow('unknown migration Tomorrow9999999999999')
  })

  it('is current again for the version that migrated it, with its record, after a rollback', async () => {
    expect(await migrate(dataSource)).toEqual({ kind: 'older' })
    expect(await migrate(dataSource)).toEqual({ kind: 'current' })
    const { name } = OLDEST_COMPATIBLE
    expect(await database.query(COMMENT)).toEqual([
      {
        text: JSON.stringify({
          schema: Number(MIGRATIONS.at(-1)?.name.slice(-13)),
          oldestServer: Number(name.slice(-13)),
        }),
      },
    ])
  })
})
