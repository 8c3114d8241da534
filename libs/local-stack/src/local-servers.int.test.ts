import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FolderInUseError } from './folder-lock.js'
import { findNatsServer, startNats } from './nats/nats.js'
import { removePostgresData, startPostgres, type LocalPostgres } from './postgres/postgres.js'
import { until } from './time/until.js'

const folder = mkdtempSync(join(tmpdir(), 'servers-'))
// The account of the server must be able to enter it.
beforeAll(() => chmodSync(folder, 0o755))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

/** The first data from the port, or the answer to our message. */
const converse = (port: number, text?: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => text && socket.write(text))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString('latin1'))
    })
  })

/** Sends the startup message of the Postgres protocol; the server answers with a password request: R … SCRAM-SHA-256. */
function greetPostgres({ url, port }: LocalPostgres): Promise<string> {
  const { username, pathname } = new URL(url)
  const body = Buffer.from(`user\0${username}\0database\0${pathname.slice(1)}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8, 0)
  head.writeInt32BE(196_608, 4)
  return converse(port, Buffer.concat([head, body]))
}

describe('Postgres', () => {
  const dataDir = join(folder, 'postgres')

  it('starts on an empty folder, requires a password, shuts down gracefully, and restarts with the same password', async () => {
    const first = await startPostgres({ dataDir })
    expect(await greetPostgres(first)).toContain('SCRAM-SHA-256')
    await first.stop()
    expect(existsSync(join(first.dataDir, 'postmaster.pid'))).toBe(false)
    const second = await startPostgres({ dataDir, port: first.port })
    expect(second.url).toBe(first.url)
    await second.stop()
    expect(await second.process.exited).toBe(0)
  })

  it('rejects a folder in use, naming the process that holds it, and does not delete it', async () => {
    const server = await startPostgres({ dataDir })
    await expect(startPostgres({ dataDir })).rejects.toThrow(new FolderInUseError(server.dataDir, process.pid))
    await expect(removePostgresData(dataDir)).rejects.toThrow(FolderInUseError)
    await server.stop()
  })

  it('reports a port in use with the output of the server', async () => {
    const nats = await startNats()
    await expect(startPostgres({ dataDir, port: nats.port })).rejects.toThrow(
      /postgres exited before.*Address already in use/s,
    )
    await nats.stop()
  })

  it('starts after it was killed, also when its process id belongs to another program', async () => {
    const killed = await startPostgres({ dataDir })
    killed.process.kill('SIGKILL')
    await killed.process.exited
    const pidFile = join(killed.dataDir, 'postmaster.pid')
    const stale = readFileSync(pidFile, 'utf8')
    writeFileSync(pidFile, stale.replace(/^\d+/, String(process.pid)))
    const again = await startPostgres({ dataDir })
    expect(await greetPostgres(again)).toContain('SCRAM-SHA-256')
    await again.stop()
  })

  it('rejects data of another major version', async () => {
    const other = join(folder, 'other')
    mkdirSync(other)
    await expect(startPostgres({ dataDir: other })).rejects.toThrow('is not a Postgres data folder')
    writeFileSync(join(other, 'PG_VERSION'), '12\n')
    await expect(startPostgres({ dataDir: other })).rejects.toThrow('was created by Postgres 12, this is Postgres 18')
  })

  it('removePostgresData deletes the data, and accepts a missing folder', async () => {
    await removePostgresData(dataDir)
    expect(existsSync(dataDir)).toBe(false)
    await removePostgresData(dataDir)
  })

  it('stores the data in a fixed system folder when the account cannot enter the requested one', async () => {
    const closed = join(folder, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const wanted = join(closed, 'postgres')
    const server = await startPostgres({ dataDir: wanted })
    expect(await greetPostgres(server)).toContain('SCRAM-SHA-256')
    await server.stop()
    // Only root runs the server under another account.
    expect(server.dataDir === wanted).toBe(process.getuid?.() !== 0)
    await removePostgresData(wanted)
    expect(existsSync(server.dataDir)).toBe(false)
  })
})

describe('NATS', () => {
  it('serves on its port, ends at stop, and restarts on the same port', async () => {
    const first = await startNats({ dir: folder })
    expect(first.url).toBe(`nats://127.0.0.1:${first.port}`)
    expect(await converse(first.port)).toMatch(/^INFO \{/)
    await first.stop()
    await expect(converse(first.port)).rejects.toThrow('ECONNREFUSED')
    const second = await startNats({ port: first.port })
    expect(await converse(first.port)).toMatch(/^INFO \{/)
    await second.stop()
  })

  it('findNatsServer searches NATS_SERVER_BIN, PATH and system folders, and names the package when it finds none', () => {
    expect(() => findNatsServer({ NATS_SERVER_BIN: folder })).toThrow(
      `NATS_SERVER_BIN: ${folder} is not an executable file`,
    )
    const program = join(folder, 'nats-server')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    expect(findNatsServer({ PATH: `/nowhere:${folder}` })).toBe(program)
    expect(findNatsServer({ NATS_SERVER_BIN: program, PATH: '' })).toBe(program)
  })
})

it('a parent killed by SIGKILL leaves no process: no server, no child that ignores signals, no grandchild', async () => {
  const parent = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/hold-stack.js'), join(folder, 'held')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    parent.once('exit', () => reject(new Error('the process exited unexpectedly')))
    createInterface({ input: parent.stdout }).once('line', resolve)
  })
  const { pids, dataDir } = JSON.parse(line) as { pids: number[]; dataDir: string }
  expect(pids.map(isAlive)).toEqual([true, true, true, true])
  parent.kill('SIGKILL')
  await until('all of them are gone', () => !pids.some(isAlive), 40_000)
  await until('Postgres ended in order', () => !existsSync(join(dataDir, 'postmaster.pid')))
})
