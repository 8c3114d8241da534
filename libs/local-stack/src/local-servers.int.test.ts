import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { FolderInUseError } from './folder-lock.js'
import { findNatsServer, startNats } from './nats.js'
import { removePostgresData, startPostgres, type LocalPostgres } from './postgres/postgres.js'
import { until } from './until.js'

const folder = mkdtempSync(join(tmpdir(), 'servers-'))
// The server's account must be able to enter.
beforeAll(() => chmodSync(folder, 0o755))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

/** What the port says first, or after we said something. */
const converse = (port: number, text?: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => text && socket.write(text))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString('latin1'))
    })
  })

/** The first message of Postgres' protocol; a server that takes connections asks for the password: R … SCRAM-SHA-256. */
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

  test('starts on an empty folder, asks for a password, ends in order, and starts again with the same one', async () => {
    const first = await startPostgres({ dataDir })
    expect(await greetPostgres(first)).toContain('SCRAM-SHA-256')
    await first.stop()
    expect(existsSync(join(first.dataDir, 'postmaster.pid'))).toBe(false)
    const second = await startPostgres({ dataDir, port: first.port })
    expect(second.url).toBe(first.url)
    await second.stop()
    expect(await second.process.exited).toBe(0)
  })

  test('a folder in use is refused with its holder, and cannot be removed', async () => {
    const server = await startPostgres({ dataDir })
    await expect(startPostgres({ dataDir })).rejects.toThrow(new FolderInUseError(server.dataDir, process.pid))
    await expect(removePostgresData(dataDir)).rejects.toThrow(FolderInUseError)
    await server.stop()
  })

  test('a port in use is told with the words of the server', async () => {
    const nats = await startNats()
    await expect(startPostgres({ dataDir, port: nats.port })).rejects.toThrow(
      /postgres ended before.*Address already in use/s,
    )
    await nats.stop()
  })

  test('starts after it was killed, also when its number belongs to another program now', async () => {
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

  test('data of another major version are refused in words', async () => {
    const other = join(folder, 'other')
    mkdirSync(other)
    await expect(startPostgres({ dataDir: other })).rejects.toThrow('is no Postgres data folder')
    writeFileSync(join(other, 'PG_VERSION'), '12\n')
    await expect(startPostgres({ dataDir: other })).rejects.toThrow('was made by Postgres 12, this is Postgres 18')
  })

  test('what is removed is gone, and removing nothing is fine', async () => {
    await removePostgresData(dataDir)
    expect(existsSync(dataDir)).toBe(false)
    await removePostgresData(dataDir)
  })

  test('a folder that the account cannot enter: the data live elsewhere, always at the same place', async () => {
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
  test('serves on its port, is gone after stop, and comes back on the same port', async () => {
    const first = await startNats({ dir: folder })
    expect(first.url).toBe(`nats://127.0.0.1:${first.port}`)
    expect(await converse(first.port)).toMatch(/^INFO \{/)
    await first.stop()
    await expect(converse(first.port)).rejects.toThrow('ECONNREFUSED')
    const second = await startNats({ port: first.port })
    expect(await converse(first.port)).toMatch(/^INFO \{/)
    await second.stop()
  })

  test('where to look for the program, and what is said when it is nowhere', () => {
    expect(() => findNatsServer({ NATS_SERVER_BIN: folder })).toThrow(`NATS_SERVER_BIN: ${folder} is not a program`)
    const program = join(folder, 'nats-server')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    expect(findNatsServer({ PATH: `/nowhere:${folder}` })).toBe(program)
    expect(findNatsServer({ NATS_SERVER_BIN: program, PATH: '' })).toBe(program)
  })
})

test('a parent killed with -9 leaves nothing: no server, no stubborn child, no grandchild', async () => {
  const parent = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/hold-stack.js'), join(folder, 'held')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    parent.once('exit', () => reject(new Error('the holder ended by itself')))
    createInterface({ input: parent.stdout }).once('line', resolve)
  })
  const { pids, dataDir } = JSON.parse(line) as { pids: number[]; dataDir: string }
  expect(pids.map(isAlive)).toEqual([true, true, true, true])
  parent.kill('SIGKILL')
  await until('all of them are gone', () => !pids.some(isAlive), 40_000)
  await until('Postgres ended in order', () => !existsSync(join(dataDir, 'postmaster.pid')))
})
