import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CERTIFICATE, KEY } from './fixtures/certificate.js'
import { EventSink, until } from '@session-service/testing'
import { WebhookPost, type WebhookReceiver } from './webhook-post.js'

const BODY = '{"event":"sessionCreated","timestamp":1}'

const OPEN: Omit<WebhookReceiver, 'endpoint'> = {
  headers: [],
  secrets: [],
  allowedAddresses: ['127.0.0.1'],
  caFile: '',
  timeoutMs: 5_000,
  now: () => Date.now(),
}

async function post(receiver: Partial<WebhookReceiver> & { endpoint: string }): Promise<unknown> {
  const poster = new WebhookPost({ ...OPEN, ...receiver })
  try {
    return await poster.post('evt_1', BODY)
  } finally {
    poster.close()
  }
}

describe('a post over TLS', () => {
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    request.resume()
    response.end()
  })
  let folder: string
  let port: number
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'webhook-'))
    await writeFile(join(folder, 'ca.pem'), CERTIFICATE)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  })

  it('fails when an unknown authority has signed the certificate', async () => {
    expect(await post({ endpoint: `https://127.0.0.1:${port}/` })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('self-signed'),
    })
  })

  it('trusts the authorities of the operator, for the right host only', async () => {
    const caFile = join(folder, 'ca.pem')
    expect(await post({ endpoint: `https://127.0.0.1:${port}/`, caFile })).toEqual({ outcome: 'delivered' })
    const wrongHost = {
      endpoint: `https://wrong.example:${port}/`,
      caFile,
      resolve: (_: string, done: (error: null, all: { address: string; family: number }[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }]),
    }
    expect(await post(wrongHost)).toMatchObject({ outcome: 'failed', error: expect.stringContaining('altnames') })
  })
})

describe('a post', () => {
  let sink: EventSink
  beforeAll(async () => {
    sink = await EventSink.open()
  })
  afterAll(() => sink.close())

  it('to a private address, given directly or by name, is refused without a connection', async () => {
    const closed = { allowedAddresses: [] }
    expect(await post({ endpoint: sink.url, ...closed })).toMatchObject({ outcome: 'refused' })
    const named = sink.url.replace('127.0.0.1', 'localhost')
    expect(await post({ endpoint: named, ...closed })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('private address'),
    })
    expect(sink.received).toHaveLength(0)
  })

  it('sends each line of a header that is configured several times, and its configured type', async () => {
    const headers = ['X-Route: a', 'Content-Type: application/cloudevents+json', 'x-route: b', 'X-Other: c']
    await post({ endpoint: sink.url, headers })
    expect(sink.received[0]?.headers).toMatchObject({
      'x-route': 'a, b',
      'x-other': 'c',
      'content-type': 'application/cloudevents+json',
    })
  })

  it('fails with a redirect and does not follow it', async () => {
    const canary = await EventSink.open()
    sink.behaviour = () => ({ status: 307, headers: { location: canary.url } })
    expect(await post({ endpoint: sink.url })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('redirect (307)'),
    })
    expect(canary.received).toHaveLength(0)
    await canary.close()
  })

  it('fails by its status when the body exceeds the limit', async () => {
    sink.behaviour = () => ({ status: 503, headers: { 'retry-after': '7' }, body: 'x'.repeat(5_000_000) })
    expect(await post({ endpoint: sink.url })).toEqual({ outcome: 'failed', error: 'status 503', retryAfterMs: 7_000 })
  })

  it('times out without an answer', async () => {
    sink.behaviour = () => ({ hang: true })
    expect(await post({ endpoint: sink.url, timeoutMs: 200 })).toMatchObject({ outcome: 'timeout' })
  })
})

describe('a post that is answered 200 with an invalid body', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
  const SHORT = `${HEAD}Content-Length: 100\r\n\r\n`
  const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
  const filler = 'x'.repeat(16_384)
  function writeEndlessly(socket: Socket, head: string, chunk: string): void {
    const write = (): void => {
      while (socket.writable && socket.write(chunk));
    }
    socket.on('drain', write)
    socket.write(head)
    write()
  }
  const answers: Record<string, (socket: Socket) => unknown> = {
    endless: (socket) => writeEndlessly(socket, CHUNKED, `4000\r\n${filler}\r\n`),
    oversized: (socket) => writeEndlessly(socket, `${HEAD}Content-Length: 1000000000000\r\n\r\n`, filler),
    truncated: (socket) => socket.end(`${SHORT}ten bytes.`),
    reset: (socket) => socket.write(`${SHORT}ten bytes.`, () => socket.resetAndDestroy()),
    malformed: (socket) => socket.write(`${CHUNKED}no length\r\n`),
    unfinished: (socket) => socket.write(SHORT),
  }

  it.each(Object.keys(answers))('is delivered when the body is %s, and the connection is closed', async (fault) => {
    const sockets: Socket[] = []
    const server = createTcpServer((socket) => {
      sockets.push(socket.on('error', () => socket.destroy()))
      socket.once('data', () => answers[fault]?.(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const poster = new WebhookPost({ ...OPEN, endpoint })
    try {
      expect(await poster.post('evt_1', BODY)).toEqual({ outcome: 'delivered' })
      await until('the connection is closed', () => sockets.length === 1 && sockets.every(({ destroyed }) => destroyed))
    } finally {
      poster.close()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  })
})
