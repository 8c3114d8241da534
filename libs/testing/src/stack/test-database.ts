import { randomBytes } from 'node:crypto'
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type LocalPostgres, removePostgresData, startPostgres } from '@session-service/local-stack'
import { Client } from 'pg'

/** A new, empty database on a real Postgres server. */
export interface TestDatabase {
  url: string
  /** The server if only this database uses it; tests may kill it. */
  server: LocalPostgres | undefined
  /** Starts the own server again on the same port with the same data. */
  restartServer(): Promise<void>
  /** Starts a standby with a copy of the own server's data, which receives no later changes. */
  addStandby(): Promise<LocalPostgres>
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Terminates remaining connections and drops the database. */
  drop(): Promise<void>
}

export interface TestDatabaseOptions {
  /** Always starts a new server. */
  ownServer?: boolean
  /**
   * For masters of this version, which migrate an empty database: a copy of the database that TEST_POSTGRES_TEMPLATE
   * names, where that is on the same server. A copy takes less time than the migrations.
   */
  isForMasters?: boolean
}

/** Creates a database on the server that TEST_POSTGRES_URL names, or on a new server. */
export const createTestDatabase = ({
  ownServer = false,
  isForMasters = false,
}: TestDatabaseOptions = {}): Promise<TestDatabase> => {
  const { TEST_POSTGRES_URL: shared, TEST_POSTGRES_TEMPLATE: template } = process.env
  if (!shared || ownServer) return createAlone()
  return createOn(shared, isForMasters && template ? new URL(template) : undefined)
}

async function createOn(adminUrl: string, template?: URL): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = new URL(adminUrl)
  const isCopy = template?.host === url.host
  await runSql(adminUrl, `CREATE DATABASE ${name}${isCopy ? ` TEMPLATE ${template.pathname.slice(1)}` : ''}`)
  url.pathname = `/${name}`
  // Each migrated database is a cluster of its own.
  if (isCopy) await runSql(url.href, 'UPDATE cluster SET id = gen_random_uuid()')
  return {
    url: url.href,
    server: undefined,
    restartServer: () => Promise.reject(sharedServer()),
    addStandby: () => Promise.reject(sharedServer()),
    query: (sql, values) => runSql(url.href, sql, values),
    drop: async () => void (await runSql(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)),
  }
}

const sharedServer = (): Error => new Error('the server is shared: use the option ownServer')

async function createAlone(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // Under root the server runs as another user, which needs access to the folder.
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  const first = await startPostgres({ dataDir })
  let settings: Record<string, string> = {}
  const standbys: LocalPostgres[] = []
  const database: TestDatabase = {
    url: first.url,
    server: first,
    restartServer: async () => {
      await database.server?.stop()
      database.server = await startPostgres({ dataDir, port: first.port, settings })
    },
    addStandby: async () => {
      // A standby needs a checkpoint that was written with this level.
      settings = { wal_level: 'replica' }
      await database.restartServer()
      await database.server?.stop()
      const copy = join(folder, `standby-${standbys.length}`)
      await promisify(execFile)('cp', ['-a', first.dataDir, copy])
      writeFileSync(join(copy, 'standby.signal'), '')
      await database.restartServer()
      const standby = await startPostgres({ dataDir: copy, settings })
      standbys.push(standby)
      return standby
    },
    query: (sql, values) => runSql(first.url, sql, values),
    drop: async () => {
      await Promise.all([database.server, ...standbys].map((server) => server?.stop()))
      await removePostgresData(dataDir)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return database
}

export async function runSql(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql, values)
    return rows
  } finally {
    await client.end()
  }
}
