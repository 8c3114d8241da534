import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/testing'
import { checkConnectionsOnlyWhileOpen } from './check-connections.js'

const HEADERS_MS = 100
let server: Server & { connectionsCheckingInterval?: number }
beforeEach(async () => {
  server = createServer({ headersTimeout: HEADERS_MS, connectionsCheckingInterval: 10 })
  checkConnectionsOnlyWhileOpen(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  server.close()
  await once(server, 'close')
})

const open = () => connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)

it('connections are checked while there are any, and not otherwise', async () => {
  expect(server.connectionsCheckingInterval).toBeGreaterThan(1e9)
  for (let round = 0; round < 3; round += 1) {
    const [first, second] = [open(), open()]
    await until('both are connected', async () => (await openSockets()) === 2)
    expect(server.connectionsCheckingInterval).toBe(10)
    first.end()
    await until('one is left', async () => (await openSockets()) === 1)
    expect(server.connectionsCheckingInterval).toBe(10)
    second.end()
    await until('none is left', async () => (await openSockets()) === 0)
    expect(server.connectionsCheckingInterval).toBeGreaterThan(1e9)
  }
})

it('a connection that is opened after a pause, and does not send its headers in time, is closed', async () => {
  for (let round = 0; round < 2; round += 1) {
    const socket = open()
    socket.write('GET / HTTP/1.1\r\n')
    socket.resume()
    await once(socket, 'close')
    await until('the server has closed it', async () => (await openSockets()) === 0)
  }
})

function openSockets(): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}
