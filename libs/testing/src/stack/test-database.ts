import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalPostgres, removePostgresData, startPostgres } from '@session-service/local-stack'
import { Client } from 'pg'

/** An empty database of its own on a real Postgres. */
export interface TestDatabase {
  url: string
  /** The server, when it belongs to this database alone: tests may kill it. */
  server: LocalPostgres | undefined
  /** Starts the server of its own again on the same port and data. */
  restartServer(): Promise<void>
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Cuts who is still connected and removes everything. */
  drop(): Promise<void>
}

/**
 * Makes a fresh database: on the server that TEST_POSTGRES_URL names, or on one started for it.
 * `ownServer` asks for the latter in any case.
 */
export const createTestDatabase = ({ ownServer = false } = {}): Promise<TestDatabase> => {
  const shared = process.env.TEST_POSTGRES_URL
  return shared && !ownServer ? createOn(shared) : createAlone()
}

async function createOn(adminUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runSql(adminUrl, `CREATE DATABASE ${name}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    server: undefined,
    restartServer: () => Promise.reject(new Error('the server is shared: ask for one with ownServer')),
    query: (sql, values) => runSql(url.href, sql, values),
    drop: async () => void (await runSql(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)),
  }
}

async function createAlone(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // As root the server runs under another account, which must be able to enter.
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  const first = await startPostgres({ dataDir })
  const database: TestDatabase = {
    url: first.url,
    server: first,
    restartServer: async () => {
      await database.server?.stop()
      database.server = await startPostgres({ dataDir, port: first.port })
    },
    query: (sql, values) => runSql(first.url, sql, values),
    drop: async () => {
      await database.server?.stop()
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
