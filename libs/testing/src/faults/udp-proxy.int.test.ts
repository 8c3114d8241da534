import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { UdpProxy } from './udp-proxy.js'

let echo: Socket
let proxy: UdpProxy
const clients: Socket[] = []

beforeEach(async () => {
  echo = createSocket('udp4').bind(0, '127.0.0.1')
  echo.on('message', (data, { address, port }) => echo.send(data, port, address))
  await once(echo, 'listening')
  proxy = await UdpProxy.open({ host: '127.0.0.1', port: echo.address().port }, '127.0.0.32')
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await proxy[Symbol.asyncDispose]()
  echo.close()
})

function open(): Socket {
  const client = createSocket('udp4')
  clients.push(client)
  return client
}

/** Sends datagrams through the proxy. Returns their echoes and the time until the last one, ms. */
async function exchange(client: Socket, texts: readonly string[]): Promise<{ echoes: string[]; ms: number }> {
  const echoes: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  client.on('message', (data) => {
    echoes.push(data.toString())
    if (echoes.length === texts.length) resolve()
  })
  const startedAt = performance.now()
  for (const text of texts) client.send(text, echo.address().port, '127.0.0.32')
  await promise
  return { echoes, ms: performance.now() - startedAt }
}

it('forwards datagrams in both directions and in order, each client apart', async () => {
  const texts = ['a', 'b', 'c']
  const [one, other] = await Promise.all([exchange(open(), texts), exchange(open(), ['x'])])
  expect(one.echoes).toEqual(texts)
  expect(other.echoes).toEqual(['x'])
})

it('delays each datagram of clients that come after the delay was set, in order', async () => {
  const early = open()
  await exchange(early, ['a'])
  proxy.delayMs = 150
  const late = await exchange(open(), ['b', 'c'])
  expect(late.echoes).toEqual(['b', 'c'])
  // Timers count whole milliseconds.
  expect(late.ms).toBeGreaterThanOrEqual(298)
  expect((await exchange(early, ['d'])).ms).toBeLessThan(late.ms)
})
