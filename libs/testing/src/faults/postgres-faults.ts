import { Client } from 'pg'
import { isErrno, until } from '@session-service/local-stack'
import { runSql, type TestDatabase } from '../stack/test-database.js'
import { freeze, thaw } from './processes.js'

const EXHAUST_TIMEOUT_MS = 30_000

/** Faults of a Postgres server that only one test uses. */
export class PostgresFaults {
  readonly #database: TestDatabase

  constructor(database: TestDatabase) {
    this.#database = database
  }

  /** Ends the server immediately, without notifying its clients and without a checkpoint. */
  async crash(): Promise<void> {
    const { process } = this.#server
    process.kill('SIGQUIT')
    await process.exited
  }

  restart(): Promise<void> {
    return this.#database.restartServer()
  }

  /** Stops the server with all its backends: sockets stay open, but it answers no query. */
  freeze(): void {
    freeze(this.#server)
  }

  thaw(): void {
    thaw(this.#server)
  }

  /** Terminates the connections with this application name and returns their number. */
  async terminateBackends(applicationName: string): Promise<number> {
    const rows = await this.#database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [applicationName],
    )
    return rows.length
  }

  /** Makes the server read-only, like one that is no longer the primary. */
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

  /** Locks a table exclusively and returns a function that releases it. */
  async lock(table: string): Promise<() => Promise<void>> {
    const client = await this.#client()
    await client.query('BEGIN')
    await client.query(`LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`)
    return () => client.end()
  }

  /** Occupies all connections of the server, including those with this application name; returns their release. */
  async exhaust(applicationName: string): Promise<() => Promise<void>> {
    const admin = await this.#client()
    const held = [admin]
    const release = async (): Promise<void> => void (await Promise.all(held.map((client) => client.end())))
    try {
      const { rows } = await admin.query<{ most: number }>(`SELECT current_setting('max_connections')::int AS most`)
      // A terminated connection closes with a delay, and its client may reconnect before its slot is occupied.
      const isAllHeld = async (): Promise<boolean> => {
        await this.#takeRest(held)
        if (held.length === rows[0]?.most) return true
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
          applicationName,
        ])
        return false
      }
      await until('every connection is held', isAllHeld, EXHAUST_TIMEOUT_MS)
    } catch (error) {
      await release()
      throw error
    }
    return release
  }

  /** Includes the slots that are reserved for superusers. */
  async #takeRest(held: Client[]): Promise<void> {
    for (;;) {
      try {
        held.push(await this.#client())
      } catch (error) {
        if (isErrno(error, '53300')) return
        throw error
      }
    }
  }

  /** Creates an empty database on the same server. */
  async emptyDatabase(name: string): Promise<{ url: string; query(sql: string): Promise<Record<string, unknown>[]> }> {
    await this.#database.query(`CREATE DATABASE "${name}"`)
    const url = new URL(this.#database.url)
    url.pathname = `/${name}`
    return { url: url.href, query: (sql) => runSql(url.href, sql) }
  }

  /** The number of connections with this application name. */
  async connectionsOf(applicationName: string): Promise<number> {
    const [row] = await this.#database.query(
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1',
      [applicationName],
    )
    return Number(row?.count)
  }

  async #client(): Promise<Client> {
    const client = new Client({ connectionString: this.#database.url, application_name: 'fault' })
    // The faults terminate connections on purpose.
    client.on('error', () => {})
    await client.connect()
    return client
  }

  get #server() {
    const { server } = this.#database
    if (!server) throw new Error('the server is shared: ask for a stack with ownPostgres')
    return server
  }
}
