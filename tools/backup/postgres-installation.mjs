// A Postgres server of the operating system, whose pg_dump has the version of the server.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { library } from '../compatibility/library.mjs'

const { freePorts, serverAccount, until } = await library('local-stack')

const PARENT = '/usr/lib/postgresql'

/** The folder of the programs of the newest installed version, or undefined. */
export function installedPrograms() {
  if (!existsSync(PARENT)) return undefined
  const folders = readdirSync(PARENT)
    .toSorted((one, other) => Number(other) - Number(one))
    .map((version) => join(PARENT, version, 'bin'))
  return folders.find((bin) => ['initdb', 'postgres', 'pg_dump', 'psql'].every((name) => existsSync(join(bin, name))))
}

/**
 * Starts an empty server on loopback; `url` names its administrator and the database `postgres`, `certificate` the file
 * of the server's certificate.
 */
export async function startInstalledPostgres(bin) {
  const account = serverAccount()
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (account) chownSync(data, account.uid, account.gid)
  const as = { cwd: '/', ...(account && { uid: account.uid, gid: account.gid }) }
  const initdb = spawnSync(join(bin, 'initdb'), ['-D', data, '-U', 'admin', '-A', 'trust', '-N'], as)
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stderr}`)
  const certificate = join(data, 'server.crt')
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', join(data, 'server.key'), '-out', certificate]
  const openssl = spawnSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files],
    as,
  )
  if (openssl.status !== 0) throw new Error(`openssl failed: ${openssl.stderr}`)
  const [port] = await freePorts(1)
  const options = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', data, '-c', 'fsync=off', '-c', 'ssl=on']
  const server = spawn(join(bin, 'postgres'), options, { ...as, stdio: 'ignore' })
  const url = `postgres://admin@127.0.0.1:${port}/postgres`
  const isReady = () => spawnSync(join(bin, 'pg_isready'), ['-q', '-d', url]).status === 0
  await until('the Postgres server accepts connections', isReady, 30_000)
  return {
    url,
    certificate,
    stop: async () => {
      server.kill('SIGINT')
      await once(server, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
