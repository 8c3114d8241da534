import { Client } from 'pg'
import { until } from '@session-service/local-stack'
import { runSql, type TestDatabase } from '../stack/test-database.js'
import { freeze, thaw } from './processes.js'

const EXHAUSTED_MS = 30_000

/** What may happen to a Postgres server that belongs to one test alone. */
export class PostgresFaults {
  constructor(private readonly database: TestDatabase) {}

  /** Gone at once, without a word to its clients and without a checkpoint. */
  async crash(): Promise<void> {
    const { process } = this.#server
    process.kill('SIGQUIT')
    await process.exited
  }

  restart(): Promise<void> {
    return this.database.restartServer()
  }

  /** With all its backends: sockets stay open and nothing is answered. */
  freeze(): void {
    freeze(this.#server)
  }

  thaw(): void {
    thaw(this.#server)
  }

  /** Cuts off who is connected under that name; gives how many that were. */
  async terminateBackends(applicationName: string): Promise<number> {
    const rows = await this.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [applicationName],
    )
    return rows.length
  }

  /** As a server is that is no longer the primary. */
  async setReadOnly(isReadOnly: boolean): Promise<void> {
    const client = await this.#client()
    try {
      await client.query('SET default_transaction_read_only = off')
      await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
      await client.query('SELECT pg_reload_conf()')
    } finally {
      await client.end()
    }
  }

  /** Holds a table for itself; the answer lets go of it. */
  async lock(table: string): Promise<() => Promise<void>> {
    const client = await this.#client()
    await client.query('BEGIN')
    await client.query(`LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`)
    return () => client.end()
  }

  /** Takes every connection of the server, also those under that name; the answer gives them back. */
  async exhaust(applicationName: string): Promise<() => Promise<void>> {
    const admin = await this.#client()
    const held = [admin]
    const release = async (): Promise<void> => void (await Promise.all(held.map((client) => client.end())))
    try {
      const { rows } = await admin.query<{ most: number }>(`SELECT current_setting('max_connections')::int AS most`)
      // What was cut off goes a moment later, and may be back sooner than its place is taken.
      const isAllHeld = async (): Promise<boolean> => {
        await this.#takeRest(held)
        if (held.length === rows[0]?.most) return true
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
          applicationName,
        ])
        return false
      }
      await until('every connection is held', isAllHeld, EXHAUSTED_MS)
    } catch (error) {
      await release()
      throw error
    }
    return release
  }

  /** Also those that are reserved: for a superuser, as we are. */
  async #takeRest(held: Client[]): Promise<void> {
    for (;;) {
      try {
        held.push(await this.#client())
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === '53300') return
        throw error
      }
    }
  }

  /** Another database on the same server, without anything in it. */
  async emptyDatabase(name: string): Promise<{ url: string; query(sql: string): Promise<Record<string, unknown>[]> }> {
    await this.database.query(`CREATE DATABASE "${name}"`)
    const url = new URL(this.database.url)
    url.pathname = `/${name}`
    return { url: url.href, query: (sql) => runSql(url.href, sql) }
  }

  /** How many connections the server has under that name. */
  async connectionsOf(applicationName: string): Promise<number> {
    const [row] = await this.database.query(
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1',
      [applicationName],
    )
    return Number(row?.count)
  }

  async #client(): Promise<Client> {
    const client = new Client({ connectionString: this.database.url, application_name: 'fault' })
    // One that the server cuts off is of no interest here.
    client.on('error', () => {})
    await client.connect()
    return client
  }

  get #server() {
    const { server } = this.database
    if (!server) throw new Error('the server is shared: ask for a stack with ownPostgres')
    return server
  }
}
