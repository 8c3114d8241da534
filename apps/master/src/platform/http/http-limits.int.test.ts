import { connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { ErrorView } from '@session-service/contract'
import { HttpErrorFilter } from '@session-service/server-kit'
import { basicAuth, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { BasicCredentials } from '../authentication/basic-credentials.js'
import { RateLimiter } from '../authentication/rate-limiter.js'
import { BasicAuthGuard } from '../authentication/basic-auth-guard.js'
import { createHttpAdapter } from './http-adapter.js'

const AUTHORIZATION = basicAuth('secret')
const SLOW = 40

const SHORT_LIMITS = { headersMs: 300, requestMs: 600, keepAliveMs: 500, checkMs: 50 }
/** For tests in which no time-out may pass, also on a busy machine. */
const LONG_LIMITS = { ...SHORT_LIMITS, headersMs: 60_000, requestMs: 60_000 }

const adapters: FastifyAdapter[] = []
let port: number
let longLimitsPort: number
let now = 0

async function listen(limits: typeof SHORT_LIMITS): Promise<number> {
  const attempts = new RateLimiter({ burst: 3, perSecond: 0.5, sources: 100 })
  const adapter = createHttpAdapter({
    guard: new BasicAuthGuard(new BasicCredentials([{ name: 'main', secret: 'secret', role: 'all' }]), {
      attempts,
      now: () => now,
    }),
    errors: new HttpErrorFilter(),
    trustedProxies: ['127.0.0.1'],
    limits,
  })
  adapters.push(adapter)
  adapter.getInstance().post('/echo', (request) => ({ given: request.body }))
  await adapter.getInstance().listen({ port: 0, host: '127.0.0.1' })
  return (adapter.getHttpServer().address() as AddressInfo).port
}

beforeAll(async () => {
  port = await listen(SHORT_LIMITS)
  longLimitsPort = await listen(LONG_LIMITS)
})
afterAll(() => Promise.all(adapters.map((adapter) => adapter.close())))

const echo = (headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', headers: { authorization: AUTHORIZATION, ...headers } })

/** Everything that is received until the server ends the connection. */
async function exchange(head: string, keepWriting?: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(head)
  const timer = keepWriting && setInterval(() => keepWriting(socket), 20)
  try {
    return await text(socket)
  } finally {
    clearInterval(timer)
    socket.destroy()
  }
}

function errorIn(answer: string): ErrorView {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(/^x-request-id: [\w-]{36}$/m)
  return ErrorView.parse(JSON.parse(body))
}

describe('slow and broken requests', () => {
  it(`ends ${SLOW} connections with slow headers, and serves others meanwhile`, async () => {
    const slow = Array.from({ length: SLOW }, () =>
      exchange('POST /echo HTTP/1.1\r\nhost: x\r\n', (socket) => socket.write('a: b\r\n')),
    )
    expect((await echo()).status).toBe(200)
    for (const answer of await Promise.all(slow)) expect(errorIn(answer)).toMatchObject({ status: 408 })
  })

  it(`ends ${SLOW} connections with slow bodies, and serves others meanwhile`, async () => {
    const head = `POST /echo HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTHORIZATION}\r\ncontent-type: application/json\r\n`
    const slow = Array.from({ length: SLOW }, () =>
      exchange(`${head}content-length: 10000\r\n\r\n`, (socket) => socket.write(' ')),
    )
    expect((await echo()).status).toBe(200)
    for (const answer of await Promise.all(slow)) expect(errorIn(answer)).toMatchObject({ status: 408 })
  })

  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['a header without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'a megabyte of credentials',
      `GET / HTTP/1.1\r\nhost: x\r\nauthorization: Basic ${'A'.repeat(1_000_000)}\r\n\r\n`,
      431,
    ],
  ])('answers %s', async (_, head, status) => {
    expect(errorIn(await exchange(head))).toMatchObject({ status })
  })

  it('closes an idle connection', async () => {
    const answer = await exchange(`GET /nowhere HTTP/1.1\r\nhost: x\r\nauthorization: ${AUTHORIZATION}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 404/)
  })

  it('closes all connections', async () => {
    const server = adapters[0]!.getHttpServer()
    await until(
      'all connections ended',
      () =>
        new Promise<boolean>((resolve, reject) => {
          server.getConnections((error: Error | null, count: number) => (error ? reject(error) : resolve(count <= 1)))
        }),
    )
  })
})

describe('bodies that are rejected', () => {
  const SIZE = 12_000_000
  const body = Buffer.alloc(SIZE, 'x')
  const chunked = Buffer.concat([Buffer.from(`${SIZE.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
  const LENGTH = `content-length: ${SIZE}`
  const CHUNKED = 'transfer-encoding: chunked'
  const JSON_TYPE = 'content-type: application/json'
  const RIGHT = `authorization: ${AUTHORIZATION}`
  const head = (path: string, ...lines: string[]): string =>
    `${[`POST ${path} HTTP/1.1`, 'host: x', ...lines].join('\r\n')}\r\n\r\n`

  /** Reads the answer after sending everything, as most clients do. Rejects when sending or reading fails. */
  async function sendAll(start: string, rest: Buffer): Promise<string> {
    const socket = connect(longLimitsPort, '127.0.0.1')
    try {
      await pipeline(Readable.from([Buffer.from(start), rest]), socket, { end: false })
      return await text(socket)
    } finally {
      socket.destroy()
    }
  }

  it.each<[string, string, Buffer, number]>([
    ['announced as too large', head('/echo', RIGHT, JSON_TYPE, LENGTH), body, 413],
    ['too large in chunks', head('/echo', RIGHT, JSON_TYPE, CHUNKED), chunked, 413],
    ['without credentials', head('/echo', JSON_TYPE, LENGTH), body, 401],
    ['in chunks, without credentials', head('/echo', JSON_TYPE, CHUNKED), chunked, 401],
    ['sent to an unknown path', head('/nowhere', RIGHT, JSON_TYPE, LENGTH), body, 404],
    [
      'in an unknown transfer coding',
      head('/echo', RIGHT, JSON_TYPE, 'transfer-encoding: gzip, chunked'),
      chunked,
      501,
    ],
  ])('a client whose body is %s gets the answer and no broken pipe', async (_, start, rest, status) => {
    const answer = await sendAll(start, rest)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\}$`))
    expect(answer).toMatch(/^connection: close\r$/im)
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
  })

  it('a client that sends a Content-Length and no body is answered at once, and only once', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(head('/echo', RIGHT, JSON_TYPE, LENGTH))
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /)
    // The time-out of the request meanwhile causes no second answer.
    expect(await text(socket)).not.toContain('HTTP/1.1')
  })
})

describe('failed attempts', () => {
  const wrong = basicAuth('guess')
  const from = async (source: string, authorization?: string) => {
    const answer = await echo({ 'x-forwarded-for': source, ...(authorization && { authorization }) })
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() }
  }

  it('throttles wrong credentials of one address, and accepts valid ones from there', async () => {
    for (let i = 0; i < 3; i++) expect((await from('192.0.2.1', wrong)).status).toBe(401)
    const refused = await from('192.0.2.1', wrong)
    expect(refused).toMatchObject({ status: 429, retryAfter: '2', body: { status: 429, error: 'Too Many Requests' } })
    expect((await from('192.0.2.1')).status).toBe(200)
    expect((await from('192.0.2.2', wrong)).status).toBe(401)
  })

  it('answers 401 to wrong credentials again after a while', async () => {
    now += 60_000
    expect((await from('192.0.2.1', wrong)).status).toBe(401)
  })

  it('does not count requests without credentials', async () => {
    for (let i = 0; i < 10; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/echo`)
      expect(answer.status).toBe(401)
    }
    expect((await echo()).status).toBe(200)
  })
})
