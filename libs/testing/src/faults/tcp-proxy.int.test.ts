import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { TcpProxy } from './tcp-proxy.js'

let echo: Server
let proxy: TcpProxy
const sockets: Socket[] = []
/** The sockets of the server. */
const served: Socket[] = []

beforeEach(async () => {
  echo = createServer((socket) => {
    served.push(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  proxy = await TcpProxy.open({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port }, '127.0.0.31')
})
afterEach(async () => {
  for (const socket of [...sockets.splice(0), ...served.splice(0)]) socket.destroy()
  await proxy.close()
  await new Promise((resolve) => echo.close(resolve))
})

/** Opens a client and records the received text and the end of the socket. */
function open() {
  const socket = connect(proxy.address)
  sockets.push(socket)
  const seen = { text: '', end: '' }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => (seen.text += text))
  socket.on('end', () => (seen.end ||= 'end'))
  socket.on('error', (error) => (seen.end ||= 'code' in error ? String(error.code) : error.message))
  return { socket, seen }
}

it('forwards data and the end of a side', async () => {
  expect(proxy.address.host).toBe('127.0.0.31')
  const { socket, seen } = open()
  socket.end('hello')
  await until('the echo', () => seen.text === 'hello' && seen.end === 'end')
  await until('all connections are closed', () => proxy.links === 0)
  expect(proxy.via('nats://user:word@10.0.0.1:4222')).toBe(`nats://user:word@127.0.0.31:${proxy.address.port}`)
})

it('holds existing and new connections without closing them, and loses no data', async () => {
  const early = open()
  early.socket.write('a')
  await until('the first', () => early.seen.text === 'a')
  proxy.mode = 'hang'
  early.socket.write('b')
  const late = open()
  late.socket.write('c')
  await until('the late connection is accepted', () => proxy.taken === 2)
  served[0]?.destroy()
  expect([early.seen, late.seen]).toEqual([
    { text: 'a', end: '' },
    { text: '', end: '' },
  ])
  proxy.mode = 'pass'
  await until('the echo of the late connection', () => late.seen.text === 'c')
  await until('the end of the early connection', () => early.seen.end !== '')
})

it('strands existing connections, and forwards those that follow to the next target', async () => {
  const early = open()
  early.socket.write('a')
  await until('the first', () => early.seen.text === 'a')
  proxy.strand()
  const next = createServer((socket) => socket.end('next')).listen(0, '127.0.0.1')
  await once(next, 'listening')
  proxy.target = { host: '127.0.0.1', port: (next.address() as AddressInfo).port }
  proxy.mode = 'pass'
  early.socket.write('b')
  const late = open()
  await until('the next target', () => late.seen.text === 'next')
  expect(early.seen).toEqual({ text: 'a', end: '' })
  late.socket.destroy()
  await new Promise((resolve) => next.close(resolve))
})

it('resets existing and new connections', async () => {
  const early = open()
  early.socket.write('a')
  await until('the first', () => early.seen.text === 'a')
  proxy.mode = 'reset'
  const late = open()
  await until('both are reset', () => [early, late].every(({ seen }) => seen.end === 'ECONNRESET'))
})

it('forwards data in one direction only', async () => {
  const { socket, seen } = open()
  proxy.mode = 'up'
  let received = ''
  await until('the server accepts the connection', () => served[0])
  served[0]?.on('data', (data: Buffer) => (received += data.toString()))
  socket.write('question')
  await until('the server receives the question', () => received === 'question')
  expect(seen.text).toBe('')
  proxy.mode = 'down'
  await until('the answer', () => seen.text === 'question')
})

it('delays chunks and keeps their order', async () => {
  proxy.mode = { delayMs: 60 }
  const { socket, seen } = open()
  const start = performance.now()
  socket.write('a')
  await until('the first chunk has arrived', () => served[0])
  socket.write('b')
  await until('both echoes', () => seen.text === 'ab')
  expect(performance.now() - start).toBeGreaterThanOrEqual(115)
})

it('resets the connection after a number of bytes of the answer', async () => {
  proxy.mode = { cutAfterBytes: 5 }
  const { socket, seen } = open()
  socket.write('0123456789')
  await until('the reset', () => seen.end === 'ECONNRESET')
  expect('01234'.startsWith(seen.text)).toBe(true)
})

it('delays the first data of a client for longer, like a handshake over the network', async () => {
  proxy.mode = { delayMs: 20, connectMs: 200 }
  const { socket, seen } = open()
  await once(socket, 'connect')
  const startedAt = performance.now()
  socket.write('a')
  await until('the first echo', () => seen.text === 'a')
  const firstMs = performance.now() - startedAt
  const againAt = performance.now()
  socket.write('b')
  await until('the second echo', () => seen.text === 'ab')
  // Timers count whole milliseconds.
  expect(firstMs).toBeGreaterThanOrEqual(238)
  expect(performance.now() - againAt).toBeLessThan(firstMs)
})
