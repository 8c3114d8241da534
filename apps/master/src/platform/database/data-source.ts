import pg from 'pg'
import { DataSource } from 'typeorm'
import { CircuitBreakerPool } from './circuit-breaker-pool.js'
import { MIGRATIONS } from './migrations/index.js'

type EntityClass = new () => object

/** Each caller has an answer within five seconds, even if it is a 503: these are its waits, ms. */
const CLIENT_TIMEOUT_MS = 3_500
const LOCK_TIMEOUT_MS = 1_500
const STATEMENT_TIMEOUT_MS = 3_500
/** A server that has not cancelled a statement after this long hangs, ms. */
const HANG_MS = STATEMENT_TIMEOUT_MS + 500
const POOL_SIZE = 16
/** A master that is silent for so long within a transaction is frozen or cut off: its locks would stop the other masters, ms. */
const SILENT_TRANSACTION_MS = 5_000
/**
 * Settings that statements rely on, whatever the database or the role sets: a statement after a lock sees what its former holder has
 * committed, and times are read as Postgres writes them. Not with the start of the connection, where poolers refuse it.
 */
const SETTINGS = `SET default_transaction_isolation = 'read committed'; SET datestyle = 'ISO';
  SET idle_in_transaction_session_timeout = ${SILENT_TRANSACTION_MS}`

export function createDataSource(
  url: string,
  entities: readonly EntityClass[],
  onPoolError: (error: Error) => void,
): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    entities: [...entities],
    migrations: [...MIGRATIONS],
    migrationsTransactionMode: 'all',
    parseInt8: true,
    poolSize: POOL_SIZE,
    driver: { ...pg, Pool: CircuitBreakerPool },
    connectTimeoutMS: CLIENT_TIMEOUT_MS,
    poolErrorHandler: onPoolError,
    applicationName: 'session-service-master',
    extra: {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      query_timeout: HANG_MS,
      onConnect: (client: pg.ClientBase) => client.query(SETTINGS),
      keepAlive: true,
    },
  })
}

/** The connection pool of an initialized data source of `createDataSource`. */
export function poolOf({ driver }: DataSource): CircuitBreakerPool {
  if ('master' in driver && driver.master instanceof CircuitBreakerPool) return driver.master
  throw new Error('the data source has no connection pool')
}

/** A migration that waits for a lock blocks the queries that wait behind it: it gives up and is repeated, ms. */
const MIGRATION_LOCK_TIMEOUT_MS = 5_000

/** For migrations alone: they may take long, on a large table for example. */
export function createMigrationSource(url: string, onPoolError: (error: Error) => void): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    migrations: [...MIGRATIONS],
    migrationsTransactionMode: 'all',
    parseInt8: true,
    poolSize: 4,
    connectTimeoutMS: CLIENT_TIMEOUT_MS,
    poolErrorHandler: onPoolError,
    applicationName: 'session-service-migrations',
    extra: { lock_timeout: MIGRATION_LOCK_TIMEOUT_MS, keepAlive: true },
  })
}
