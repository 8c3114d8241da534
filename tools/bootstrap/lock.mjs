import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rmSync } from 'node:fs'
import { digest } from './cache.mjs'
import { Interrupted } from './stop.mjs'

/**
 * Runs `work` while no other process of this machine runs anything under the same name.
 * The lock is a listening socket (on Linux one without a file): the kernel frees it whatever way
 * its holder dies, and who waits is woken by the end of a connection instead of asking again and again.
 * `onWait(pid)` is called once when somebody else holds it.
 */
export async function withLock(name, work, { onWait, signal } = {}) {
  const address = lockAddress(name)
  let waited = false
  for (;;) {
    if (signal?.aborted) throw new Interrupted()
    const server = await listen(address)
    if (server) {
      try {
        return await work()
      } finally {
        release(server)
      }
    }
    await holderGone(address, { signal, onHolder: (pid) => (waited ||= (onWait?.(pid), true)) })
  }
}

/** The same for a step: a wait is told through `say`, an interruption ends it. */
export const oneAtATime = (context, name, say, work) =>
  withLock(name, work, { signal: context.signal, onWait: (pid) => say(`waiting for another run (process ${pid})`) })

function lockAddress(name) {
  const id = `session-service-bootstrap-${digest(name)}`
  return process.platform === 'linux' ? `\0${id}` : join(tmpdir(), `${id}.sock`)
}

function listen(address) {
  return new Promise((resolve, reject) => {
    const waiting = new Set()
    const server = net.createServer((socket) => {
      waiting.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => waiting.delete(socket))
      socket.write(`${process.pid}\n`)
    })
    server.waiting = waiting
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(address, () => resolve(server))
    server.unref()
  })
}

function release(server) {
  server.close()
  for (const socket of server.waiting) socket.destroy()
}

function holderGone(address, { signal, onHolder }) {
  return new Promise((resolve) => {
    const socket = net.connect(address)
    const stop = () => socket.destroy()
    signal?.addEventListener('abort', stop, { once: true })
    socket.on('data', (data) => onHolder(Number.parseInt(String(data), 10)))
    socket.on('error', (error) => {
      // A socket file without a listener is what a dead holder leaves where locks are files.
      if (error.code === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true })
    })
    socket.on('close', () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
  })
}
