import { AsyncLocalStorage } from 'node:async_hooks'
import { rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digest } from './cache.mjs'
import { Interrupted } from './stop.mjs'

const held = new AsyncLocalStorage()

/**
 * File descriptors of the locks that the current work holds. A program that inherits one keeps the lock until it
 * exits, so that the next holder never runs beside the programs of a holder that was killed.
 */
export const heldLocks = () =>
  // Node passes streams and descriptors to a child but no servers, so the descriptor is read from the handle.
  currentLocks().flatMap(({ _handle: handle }) => (handle?.fd >= 0 ? [handle.fd] : []))

const currentLocks = () => held.getStore() ?? []

/**
 * Runs `work` while no other process of this machine runs work under the same name.
 * The lock is a listening socket (on Linux in the abstract namespace, without a file): the kernel releases it however
 * its holder dies, and a waiting process is woken by the end of its connection instead of polling.
 * `onWait(pid)` is called once when another process holds the lock.
 */
export async function withLock(name, work, { onWait, signal } = {}) {
  const address = lockAddress(name)
  let waited = false
  for (;;) {
    if (signal?.aborted) throw new Interrupted()
    const server = await listen(address)
    if (server) {
      try {
        return await held.run([...currentLocks(), server], work)
      } finally {
        release(server)
      }
    }
    await holderGone(address, { signal, onHolder: (pid) => (waited ||= (onWait?.(pid), true)) })
  }
}

/** Runs `work` of a step under a lock; reports the wait through `say`, and an interruption ends the wait. */
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
      // Where locks are files, a killed holder leaves a socket file without a listener.
      if (error.code === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true })
    })
    socket.on('close', () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
  })
}
