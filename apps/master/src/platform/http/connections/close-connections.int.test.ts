import { connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, it } from '@jest/globals'
import { until } from '@session-service/testing'
import { closeConnections, type ClosingLimits } from './close-connections.js'

/** For tests in which this time-out may not pass. */
const NEVER_MS = 600_000
/** More than the buffers of both sockets hold. */
const LARGE = 50_000_000

let server: FastifyInstance
/** The `/slow` requests in progress. */
let slow: PromiseWithResolvers<string>[]
const clients: Socket[] = []

async function listen(limits: Partial<ClosingLimits>): Promise<void> {
  slow = []
  server = Fastify({ return503OnClosing: false })
  closeConnections(server, { unusedMs: NEVER_MS, stalledMs: NEVER_MS, totalMs: NEVER_MS, ...limits })
  server.get('/slow', () => {
    const answer = Promise.withResolvers<string>()
    slow.push(answer)
    return answer.promise
  })
  server.get('/large', () => 'x'.repeat(LARGE))
  server.post('/echo', ({ body }) => body)
  await server.listen({ port: 0, host: '127.0.0.1' })
}

async function open(sent = ''): Promise<Socket> {
  const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  clients.push(client)
  client.on('error', () => undefined)
  await once(client, 'connect')
  client.write(sent)
  return client
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
const HALF_BODY = 'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{'

const openConnections = () =>
  new Promise<number>((resolve, reject) =>
    server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  for (const answer of slow) answer.resolve('')
  await server.close()
})

it.each<[string, string, Partial<ClosingLimits>]>([
  ['has not sent anything', '', { unusedMs: 50 }],
  ['does not complete its headers', 'GET /slow HTTP/1.1\r\nhost: x\r\n', { stalledMs: 50 }],
  ['does not complete its body', HALF_BODY, { stalledMs: 50 }],
  ['does not read its answer', get('/large'), { stalledMs: 50 }],
  ['waits for an answer that takes too long', get('/slow'), { totalMs: 50 }],
])('a server closes although a client %s', async (_, sent, limits) => {
  await listen(limits)
  const client = await open(sent)
  await until('the server has the connection', async () => (await openConnections()) === 1)
  if (sent.includes('/slow HTTP/1.1\r\nhost: x\r\nc')) await until('the request is in progress', () => slow.length > 0)
  await server.close()
  client.resume()
  await until('the connection has ended', () => client.closed)
})

it('a request in progress is answered although its connection is silent for longer than a stalled one may be', async () => {
  await listen({ stalledMs: 50 })
  const [stalled, waiting] = [await open(HALF_BODY), await open(get('/slow'))]
  const answer = text(waiting)
  await until('the request is in progress', () => slow.length > 0)
  const closed = server.close()
  stalled.resume()
  await until('the stalled connection has ended', () => stalled.closed)
  slow[0]?.resolve('done')
  expect(await answer).toMatch(/^HTTP\/1\.1 200 [^]*done$/)
  await closed
})

it('a client that continues to read receives the whole answer while the server closes', async () => {
  await listen({ unusedMs: 50 })
  const [unused, reading] = [await open(), await open(get('/large'))]
  await until('the server has both connections', async () => (await openConnections()) === 2)
  await until('the answer has begun', () => reading.readableLength > 0)
  const closed = server.close()
  unused.resume()
  await until('the unused connection has ended', () => unused.closed)
  expect((await text(reading)).length).toBeGreaterThan(LARGE)
  await closed
})
