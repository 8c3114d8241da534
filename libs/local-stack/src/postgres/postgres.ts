import { rmSync } from 'node:fs'
import { lockFolder } from '../folder-lock.js'
import { freePorts } from '../ports.js'
import { ManagedProcess, type OutputLine } from '../processes/managed-process.js'
import { printsLine } from '../processes/readiness.js'
import { serverAccount } from '../account/account.js'
import { sharedFolder } from '../account/shared-folder.js'
import { findBinaries } from './binaries.js'
import { clearLeftover } from './leftover.js'
import { DATABASE_NAME, DATABASE_USER, ensureCluster, SERVER_ENV } from './cluster.js'
import { placeOf } from './place.js'

const STOP_TIMEOUT_MS = 15_000
const START_TIMEOUT_MS = 60_000

export interface PostgresOptions {
  /** The requested data folder; see `LocalPostgres.dataDir`. */
  dataDir: string
  /** On 127.0.0.1; a free port by default. */
  port?: number
  /** In addition to the usual settings, or in their place. */
  settings?: Readonly<Record<string, string>>
  onLine?: OutputLine
}

export interface LocalPostgres {
  /** `postgres://…` with the password, of an existing database. */
  url: string
  port: number
  /** The actual data folder; it differs from the option when the server's account cannot enter that one. */
  dataDir: string
  pid: number
  process: ManagedProcess
  /** Fast shutdown: open transactions are rolled back, nothing committed is lost. */
  stop(): Promise<void>
}

/** Starts Postgres on loopback; resolves when it accepts connections. Commits are durable. */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const account = serverAccount()
  const dataDir = placeOf(options.dataDir, account)
  const unlock = await lockFolder(dataDir)
  try {
    const binaries = findBinaries(account, () => sharedFolder(account))
    const password = ensureCluster(dataDir, binaries, account)
    await clearLeftover(dataDir)
    const port = options.port ?? (await freePort())
    const server = await ManagedProcess.start({
      name: 'postgres',
      command: binaries.postgres,
      args: serverOptions(dataDir, port, options.settings),
      env: SERVER_ENV,
      cwd: '/',
      account,
      stopSignal: 'SIGINT',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      readyTimeoutMs: START_TIMEOUT_MS,
      whenReady: printsLine(/database system is ready to accept (read-only )?connections/),
      onLine: options.onLine,
    })
    void server.exited.then(unlock)
    await server.ready
    return {
      url: `postgres://${DATABASE_USER}:${password}@127.0.0.1:${port}/${DATABASE_NAME}`,
      port,
      dataDir,
      pid: server.pid,
      process: server,
      stop: () => server.stop(),
    }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Deletes the data of `startPostgres` for that folder. Rejects while a server runs on it. */
export async function removePostgresData(requestedDir: string): Promise<void> {
  const dataDir = placeOf(requestedDir)
  const unlock = await lockFolder(dataDir)
  try {
    await clearLeftover(dataDir)
    for (const folder of [dataDir, `${dataDir}.new`]) rmSync(folder, { recursive: true, force: true })
  } finally {
    unlock()
  }
}

/** The path of the server program, as the account of servers may run it. */
export const findPostgres = (): string => {
  const account = serverAccount()
  return findBinaries(account, () => sharedFolder(account)).postgres
}

async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** Small limits, for a server that shares the machine; the same SQL dialect and durability as in production. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  // The tables of locks are as large as this times the connections, and Postgres fills them when it starts.
  max_locks_per_transaction: 16,
  max_pred_locks_per_transaction: 10,
  // Nothing replicates.
  max_logical_replication_workers: 0,
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_wal_size: '256MB',
  io_method: 'sync',
  jit: 'off',
  timezone: 'UTC',
  log_checkpoints: 'off',
} as const

const serverOptions = (dataDir: string, port: number, settings?: Readonly<Record<string, string>>): string[] => [
  '-D',
  dataDir,
  '-p',
  String(port),
  ...Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
]
