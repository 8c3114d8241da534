import { accessSync, chownSync, constants, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Account } from './account/account.js'
import { makeOwnedFolder } from './account/owned-folder.js'
import { executableFor } from './account/executable.js'
import { type ClusterUsers, natsAuthorization, withHashedPasswords } from './nats-users.js'
import { freePorts } from './ports.js'
import { ManagedProcess, type OutputLine } from './processes/managed-process.js'
import { says } from './processes/poll.js'

/** Where Debian puts servers; the PATH of an ordinary user lacks them. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin']

export interface NatsOptions {
  /** On 127.0.0.1; a free one. */
  port?: number
  /** The folder that it works in; it stores nothing. */
  dir?: string
  /** Lines of its configuration file, such as `max_payload: 8KB`. */
  config?: readonly string[]
  /** Who may connect, and what each may do; without it anyone may do everything. */
  users?: readonly ClusterUsers[]
  /** Where the configuration is written, readable for its owner alone; a temporary file. */
  configFile?: string
  /** Account that the server runs under; only root can choose one. */
  account?: Account | undefined
  onLine?: OutputLine
}

export interface LocalNats {
  /** `nats://127.0.0.1:<port>` */
  url: string
  port: number
  pid: number
  process: ManagedProcess
  stop(): Promise<void>
}

/** Starts a real nats-server on loopback and resolves once it takes connections. */
export async function startNats(options: NatsOptions = {}): Promise<LocalNats> {
  const [free = 0] = options.port === undefined ? await freePorts(1) : []
  const port = options.port ?? free
  const users = options.users?.map(withHashedPasswords)
  const lines = [...(options.config ?? []), ...(users ? natsAuthorization(users) : [])]
  const temporary = lines.length > 0 && !options.configFile ? mkdtempSync(join(tmpdir(), 'nats-')) : undefined
  const configFile = options.configFile ?? (temporary && join(temporary, 'nats.conf'))
  if (temporary) makeOwnedFolder(temporary, options.account)
  if (configFile) writeConfig(configFile, lines, options.account)
  const server = await ManagedProcess.start({
    name: 'nats',
    command: executableFor(options.account, findNatsServer(process.env)),
    args: ['--addr', '127.0.0.1', '--port', String(port), ...(configFile ? ['--config', configFile] : [])],
    env: { PATH: process.env.PATH ?? '' },
    cwd: options.dir ?? tmpdir(),
    account: options.account,
    whenReady: says(/Server is ready/),
    onLine: options.onLine,
  })
  if (temporary) void server.exited.then(() => rmSync(temporary, { recursive: true, force: true }))
  await server.ready
  return { url: `nats://127.0.0.1:${port}`, port, pid: server.pid, process: server, stop: () => server.stop() }
}

/** It holds hashes of passwords. A file that is there already would keep its mode. */
function writeConfig(file: string, lines: readonly string[], account: Account | undefined): void {
  rmSync(file, { force: true })
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  if (account) chownSync(file, account.uid, account.gid)
}

/** NATS_SERVER_BIN, or the first nats-server in PATH and where systems put servers. */
export function findNatsServer(env: NodeJS.ProcessEnv): string {
  if (env.NATS_SERVER_BIN) {
    if (isProgram(env.NATS_SERVER_BIN)) return env.NATS_SERVER_BIN
    throw new Error(`NATS_SERVER_BIN: ${env.NATS_SERVER_BIN} is not a program that can be run`)
  }
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...SERVER_FOLDERS]
  const found = folders.map((folder) => join(folder, 'nats-server')).find(isProgram)
  if (found) return found
  throw new Error(
    'nats-server is not installed: install it (apt-get install nats-server), or set NATS_SERVER_BIN or NATS_URL',
  )
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
