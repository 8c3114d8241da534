import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isErrno } from './processes/managed-process.js'

/** Another process holds the lock of the folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError'
  constructor(
    readonly folder: string,
    readonly pid: number | undefined,
  ) {
    super(`${folder} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}`)
  }
}

/**
 * Locks a folder for this process; returns a function that unlocks it. Rejects with FolderInUseError.
 * The lock is a listening socket (on Linux without a file), which the kernel closes when the process ends in any way.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const address = lockAddress(resolve(folder))
  for (let attempt = 0; attempt < 2; attempt++) {
    const server = await listen(address)
    if (server) return () => server.close()
    const holder = await queryHolder(address)
    if (holder.alive) throw new FolderInUseError(folder, holder.pid)
    // A socket file remains after its holder has died.
    if (!address.startsWith('\0')) rmSync(address, { force: true })
  }
  throw new FolderInUseError(folder, undefined)
}

function lockAddress(folder: string): string {
  const id = `session-service-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  return process.platform === 'linux' ? `\0${id}` : join(tmpdir(), `${id}.sock`)
}

function listen(address: string): Promise<Server | undefined> {
  return new Promise((done, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.end(`${process.pid}\n`)
    })
    server.once('error', (error) => (isErrno(error, 'EADDRINUSE') ? done(undefined) : reject(error)))
    server.listen(address, () => done(server))
    server.unref()
  })
}

function queryHolder(address: string): Promise<{ alive: boolean; pid?: number }> {
  return new Promise((done) => {
    const socket = connect(address)
    let text = ''
    socket.setTimeout(2_000, () => {
      socket.destroy()
      done({ alive: true })
    })
    socket.on('data', (data) => (text += data.toString()))
    socket.on('error', () => done({ alive: false }))
    socket.on('close', () => {
      const pid = Number.parseInt(text, 10)
      done(Number.isNaN(pid) ? { alive: false } : { alive: true, pid })
    })
  })
}
