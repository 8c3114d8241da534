import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CERTIFICATE, KEY } from './fixtures/certificate.js'
import { EventSink } from '@session-service/testing'
import { WebhookPost, type WebhookReceiver } from './webhook-post.js'

const BODY = '{"event":"sessionCreated","timestamp":1}'

async function post(receiver: Partial<WebhookReceiver> & { endpoint: string }): Promise<unknown> {
  const poster = new WebhookPost({
    headers: [],
    secrets: [],
    allowedAddresses: ['127.0.0.1'],
    caFile: '',
    timeoutMs: 5_000,
    now: () => Date.now(),
    ...receiver,
  })
  try {
    return await poster.post('evt_1', BODY)
  } finally {
    poster.close()
  }
}

describe('over TLS', () => {
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

  it('a certificate of nobody known is a failure', async () => {
    expect(await post({ endpoint: `https://127.0.0.1:${port}/` })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('self-signed'),
    })
  })

  it('the operator’s authorities are trusted, for the right host only', async () => {
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

describe('addresses and redirects', () => {
  let sink: EventSink
  beforeAll(async () => {
    sink = await EventSink.open()
  })
  afterAll(() => sink.close())

  it('a private receiver is refused without a connection, by address and by name', async () => {
    const closed = { allowedAddresses: [] }
    expect(await post({ endpoint: sink.url, ...closed })).toMatchObject({ outcome: 'refused' })
    const named = sink.url.replace('127.0.0.1', 'localhost')
    expect(await post({ endpoint: named, ...closed })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('private address'),
    })
    expect(sink.received).toHaveLength(0)
  })

  it('a redirect is a failure, and nobody goes there', async () => {
    const canary = await EventSink.open()
    sink.behaviour = () => ({ status: 307, headers: { location: canary.url } })
    expect(await post({ endpoint: sink.url })).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('redirect (307)'),
    })
    expect(canary.received).toHaveLength(0)
    await canary.close()
  })

  it('an answer that does not come is a time-out', async () => {
    sink.behaviour = () => ({ hang: true })
    expect(await post({ endpoint: sink.url, timeoutMs: 200 })).toMatchObject({ outcome: 'timeout' })
  })
})
