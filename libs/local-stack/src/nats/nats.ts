import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Account } from '../account/account.js'
import { makeOwnedFolder } from '../account/owned-folder.js'
import { executableFor } from '../account/executable.js'
import { type ClusterUsers, natsAuthorization, withHashedPasswords } from './nats-users.js'
import { freePorts } from '../ports.js'
import { isProgram } from '../processes/is-program.js'
import { ManagedProcess, type OutputLine } from '../processes/managed-process.js'
import { printsLine } from '../processes/readiness.js'

/** Folders of servers on Debian and macOS; the PATH of an unprivileged user may lack them. */
const SERVER_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin']

export interface NatsOptions {
  /** On 127.0.0.1; a free port by default. */
  port?: number
  /** The working directory; the server stores no files. */
  dir?: string
  /** Lines of the configuration file, such as `max_payload: 8KB`. */
  config?: readonly string[]
  /** Users and their permissions; without it the server needs no credentials. */
  users?: readonly ClusterUsers[]
  /** Path of the configuration file, readable by its owner only; a temporary file by default. */
  configFile?: string
  /** Account of the server; only root can choose one. */
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

/** Starts a nats-server on loopback; resolves when it accepts connections. */
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
    // One thread is enough for a bus on one machine, and threads that hand over to each other cost more than messages.
    env: { PATH: process.env.PATH ?? '', GOMAXPROCS: '1' },
    cwd: options.dir ?? tmpdir(),
    account: options.account,
    whenReady: printsLine(/Server is ready/),
    onLine: options.onLine,
  })
  if (temporary) void server.exited.then(() => rmSync(temporary, { recursive: true, force: true }))
  await server.ready
  return { url: `nats://127.0.0.1:${port}`, port, pid: server.pid, process: server, stop: () => server.stop() }
}

/** The file contains password hashes. It is removed first, because an existing file would keep its mode. */
function writeConfig(file: string, lines: readonly string[], account: Account | undefined): void {
  rmSync(file, { force: true })
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  if (account) chownSync(file, account.uid, account.gid)
}

/** NATS_SERVER_BIN, or the first nats-server in PATH and in SERVER_FOLDERS. */
export function findNatsServer(env: NodeJS.ProcessEnv): string {
  if (env.NATS_SERVER_BIN) {
    if (isProgram(env.NATS_SERVER_BIN)) return env.NATS_SERVER_BIN
    throw new Error(`NATS_SERVER_BIN: ${env.NATS_SERVER_BIN} is not an executable file`)
  }
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...SERVER_FOLDERS]
  const found = folders.map((folder) => join(folder, 'nats-server')).find(isProgram)
  if (found) return found
  throw new Error(
    'nats-server is not installed: install it (apt-get install nats-server), or set NATS_SERVER_BIN or NATS_URL',
  )
}
