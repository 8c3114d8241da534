import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { TcpProxy } from './tcp-proxy.js'

let echo: Server
let proxy: TcpProxy
const sockets: Socket[] = []
/** At the server's side. */
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

/** A client, what it has been sent, and how it ended. */
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

test('passes what is sent, and that a side has ended', async () => {
  expect(proxy.address.host).toBe('127.0.0.31')
  const { socket, seen } = open()
  socket.end('hello')
  await until('the echo', () => seen.text === 'hello' && seen.end === 'end')
  await until('nothing is left open', () => proxy.links === 0)
  expect(proxy.via('nats://user:word@10.0.0.1:4222')).toBe(`nats://user:word@127.0.0.31:${proxy.address.port}`)
})

test('hangs without closing, also what is new, and loses nothing', async () => {
  const early = open()
  early.socket.write('a')
  await until('the first', () => early.seen.text === 'a')
  proxy.mode = 'hang'
  early.socket.write('b')
  const late = open()
  late.socket.write('c')
  await until('the late one is taken', () => proxy.taken === 2)
  served[0]?.destroy()
  expect([early.seen, late.seen]).toEqual([
    { text: 'a', end: '' },
    { text: '', end: '' },
  ])
  proxy.mode = 'pass'
  await until('the late one has its echo', () => late.seen.text === 'c')
  await until('the early one hears of its end', () => early.seen.end !== '')
})

test('resets what is open and what is new', async () => {
  const early = open()
  early.socket.write('a')
  await until('the first', () => early.seen.text === 'a')
  proxy.mode = 'reset'
  const late = open()
  await until('both are reset', () => [early, late].every(({ seen }) => seen.end === 'ECONNRESET'))
})

test('moves things one way only', async () => {
  const { socket, seen } = open()
  proxy.mode = 'up'
  let heard = ''
  await until('it is served', () => served[0])
  served[0]?.on('data', (data: Buffer) => (heard += data.toString()))
  socket.write('question')
  await until('the server hears it', () => heard === 'question')
  expect(seen.text).toBe('')
  proxy.mode = 'down'
  await until('the answer', () => seen.text === 'question')
})

test('delays in order', async () => {
  proxy.mode = { delayMs: 60 }
  const { socket, seen } = open()
  const start = performance.now()
  socket.write('a')
  await until('the first is on its way', () => served[0])
  socket.write('b')
  await until('both are back', () => seen.text === 'ab')
  expect(performance.now() - start).toBeGreaterThanOrEqual(115)
})

test('cuts an answer off after some bytes', async () => {
  proxy.mode = { cutAfterBytes: 5 }
  const { socket, seen } = open()
  socket.write('0123456789')
  await until('it is cut', () => seen.end === 'ECONNRESET')
  expect('01234'.startsWith(seen.text)).toBe(true)
})
