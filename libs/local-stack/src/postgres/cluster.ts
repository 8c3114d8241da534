import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Account } from '../account/account.js'
import type { PostgresBinaries } from './binaries.js'

export const DATABASE_USER = 'service'
export const DATABASE_NAME = 'service'
/** In the data folder, which only the account of the server can read. */
const PASSWORD_FILE = 'service.password'

/** Creates the cluster atomically unless it exists. Returns the password of its user. */
export function ensureCluster(dataDir: string, binaries: PostgresBinaries, account: Account | undefined): string {
  if (existsSync(dataDir)) checkVersion(dataDir, binaries)
  else createCluster(dataDir, binaries, account)
  return readFileSync(join(dataDir, PASSWORD_FILE), 'utf8').trim()
}

function checkVersion(dataDir: string, binaries: PostgresBinaries): void {
  const file = join(dataDir, 'PG_VERSION')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
  const major = binaries.version.split('.')[0]
  if (found === undefined) throw new Error(`${dataDir} is not a Postgres data folder: remove it or choose another one`)
  if (found !== major)
    throw new Error(
      `${dataDir} was created by Postgres ${found}, this is Postgres ${major}: delete the data with --reset`,
    )
}

function createCluster(dataDir: string, binaries: PostgresBinaries, account: Account | undefined): void {
  const draft = `${dataDir}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true, mode: 0o700 })
  const password = randomBytes(18).toString('base64url')
  const passwordFile = join(draft, 'password')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid)
  const data = join(draft, 'data')
  run(binaries.initdb, initOptions(data, passwordFile), '', account)
  run(binaries.postgres, ['--single', '-D', data, 'postgres'], `CREATE DATABASE ${DATABASE_NAME}\n`, account)
  renameSync(passwordFile, join(data, PASSWORD_FILE))
  mkdirSync(dirname(dataDir), { recursive: true })
  renameSync(data, dataDir)
  rmSync(draft, { recursive: true, force: true })
}

const initOptions = (data: string, passwordFile: string): string[] => [
  `--pgdata=${data}`,
  `--username=${DATABASE_USER}`,
  `--pwfile=${passwordFile}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The same collation on every machine, regardless of its locales.
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
]

function run(command: string, args: string[], input: string, account: Account | undefined): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: '/',
    input,
    encoding: 'utf8',
    env: SERVER_ENV,
    ...(account && { uid: account.uid, gid: account.gid }),
  })
  if (error) throw new Error(`creating the Postgres cluster failed: ${error.message}`, { cause: error })
  if (status !== 0)
    throw new Error(`creating the Postgres cluster failed (exit code ${status}):\n${stdout}${stderr}`.trimEnd())
}

/** No variables of this process: PGDATA and others would change the server's behaviour. */
export const SERVER_ENV: Readonly<Record<string, string>> = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
