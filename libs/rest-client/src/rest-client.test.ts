import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { NoAnswerError, RestError } from './errors.js'
import { RestClient } from './rest-client.js'

interface Reply {
  status: number
  body?: unknown
  headers?: Record<string, string>
  delayMs?: number
}
interface ReceivedRequest {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** A service that sends these answers in order; 'silence' sends none. */
async function service(...replies: (Reply | 'silence' | 'reset')[]) {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ method: request.method, url: request.url, headers: request.headers, body })
      const reply = replies[requests.length - 1] ?? { status: 500 }
      if (reply === 'silence') return undefined
      if (reply === 'reset') return request.socket.destroy()
      return setTimeout(() => {
        response.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8', ...reply.headers })
        response.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
      }, reply.delayMs ?? 0)
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/path`
  return { requests, client: (options = {}) => new RestClient({ url, secret: 'hush', maxRetryWaitMs: 10, ...options }) }
}

const BUSY: Reply = { status: 503, headers: { 'retry-after': '2' }, body: {} }
const LIST: Reply = { status: 200, body: { count: 0, items: [] } }

describe('RestClient', () => {
  it('waits longer for a language model than the time limit of the client, unless the call has its own', async () => {
    const { client } = await service({ status: 200, delayMs: 200 }, { status: 200, delayMs: 200 })
    const model = { lang: 'en-US', mediaNode: { id: 'media_1' } }
    const impatient = client({ timeoutMs: 20 })
    await expect(impatient.loadLanguageModel(model, { timeoutMs: undefined })).resolves.toBeUndefined()
    await expect(impatient.loadLanguageModel(model, { timeoutMs: 20 })).rejects.toBeInstanceOf(NoAnswerError)
  })

  it('waits longer for the end of a recording than the time limit of the client, unless the call has its own', async () => {
    const gone = { status: 404, delayMs: 200 }
    const { client } = await service(gone, gone)
    const impatient = client({ timeoutMs: 20 })
    await expect(impatient.stopRecording('take', { timeoutMs: undefined })).rejects.toBeInstanceOf(RestError)
    await expect(impatient.stopRecording('take', { timeoutMs: 20 })).rejects.toBeInstanceOf(NoAnswerError)
  })

  it('sends a request that may last longer than fetch waits without it, with the same results', async () => {
    const view = { timestamp: 1, status: 409, error: 'Conflict', message: 'it has ended', path: '/x' }
    const elsewhere = { status: 302, headers: { location: '/' } }
    const { requests, client } = await service(LIST, { status: 200 }, { status: 409, body: view }, elsewhere, 'reset')
    const patient = client({ timeoutMs: 300_001, retries: 0 })
    const fetched = jest.spyOn(globalThis, 'fetch')
    expect(await patient.listRecordings()).toEqual(LIST.body)
    await patient.sendSignal({ session: 's', data: 'ä' })
    await expect(patient.stopRecording('take')).rejects.toMatchObject({ status: 409, view })
    await expect(patient.listRecordings()).rejects.toBeInstanceOf(NoAnswerError)
    await expect(patient.listRecordings()).rejects.toBeInstanceOf(NoAnswerError)
    expect(fetched).not.toHaveBeenCalled()
    const authorization = `Basic ${Buffer.from('SERVICEAPP:hush').toString('base64')}`
    expect(requests[1]).toMatchObject({
      method: 'POST',
      body: '{"session":"s","data":"ä"}',
      headers: { authorization },
    })
    await expect(client({ timeoutMs: 300_000 }).listRecordings()).rejects.toBeInstanceOf(RestError)
    expect(fetched).toHaveBeenCalledTimes(1)
    fetched.mockRestore()
  })

  it('sends path, query, body and credentials', async () => {
    const { requests, client } = await service(
      { status: 200, body: { numberOfElements: 0, content: [] } },
      { status: 200 },
    )
    await client().listConnections('a/b c', { pendingConnections: 'false' })
    await client().sendSignal({ session: 's', data: 'x' })
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: '/service/api/sessions/a%2Fb%20c/connection?pendingConnections=false',
      headers: { authorization: `Basic ${Buffer.from('SERVICEAPP:hush').toString('base64')}` },
    })
    expect(requests[0]?.headers).not.toHaveProperty('content-type')
    expect(requests[1]).toMatchObject({
      method: 'POST',
      url: '/service/api/signal',
      body: '{"session":"s","data":"x"}',
    })
    expect(requests[1]?.headers['content-type']).toBe('application/json')
  })

  it.each(['', '.', '..'])('sends no request for the id "%s", which would address another path', async (id) => {
    const { requests, client } = await service({ status: 204 })
    await expect(client().deleteDeadLetter(id)).rejects.toThrow(`eventId: "${id}" is not an id`)
    expect(requests).toEqual([])
  })

  it('rejects with the status and the error body of the service', async () => {
    const view = { timestamp: 1, status: 404, error: 'Not Found', message: 'no such session', path: '/x' }
    const { client } = await service({ status: 404, body: view }, { status: 502, body: 'proxy' })
    const error: unknown = await client()
      .deleteSession('x')
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(RestError)
    expect(error).toMatchObject({
      status: 404,
      view,
      message: 'DELETE /service/api/sessions/x answered 404: no such session',
    })
    await expect(client().getSession('x')).rejects.toMatchObject({ status: 502, view: undefined, body: 'proxy' })
  })

  it('rejects a malformed answer', async () => {
    const { client } = await service({ status: 200, body: { count: 'many', items: [] } })
    await expect(client().listRecordings()).rejects.toThrow('count')
  })

  it('resolves with UNSTABLE and DOWN', async () => {
    const down = { status: 'DOWN', disconnectedMediaNodes: [] }
    const { client } = await service({ status: 503, body: down })
    expect(await client().getHealth()).toEqual(down)
  })

  it('retries an idempotent request of a busy service up to the limit', async () => {
    const { requests, client } = await service(BUSY, 'reset', LIST, BUSY, BUSY, LIST)
    expect(await client().listRecordings()).toEqual(LIST.body)
    expect(requests).toHaveLength(3)
    await expect(client({ retries: 1 }).listRecordings()).rejects.toMatchObject({ status: 503 })
    expect(requests).toHaveLength(5)
  })

  it('never retries a POST without a key, nor a 503 without Retry-After', async () => {
    const { requests, client } = await service(BUSY, 'reset', { status: 503, body: {} })
    await expect(client().createSession()).rejects.toMatchObject({ status: 503 })
    await expect(client().createSession()).rejects.toBeInstanceOf(NoAnswerError)
    await expect(client().listSessions()).rejects.toMatchObject({ status: 503 })
    expect(requests).toHaveLength(3)
  })

  it('retries a POST with the same idempotency key, also while an earlier attempt is in progress', async () => {
    const inProgress: Reply = { status: 409, headers: { 'retry-after': '1' }, body: {} }
    const { requests, client } = await service(BUSY, 'reset', inProgress, { status: 200 }, { status: 409, body: {} })
    const signal = { session: 's', data: 'x' }
    await client().sendSignal(signal, { idempotencyKey: 'k-1' })
    expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k-1', 'k-1', 'k-1', 'k-1'])
    await expect(client().sendSignal(signal, { idempotencyKey: 'k-2' })).rejects.toMatchObject({ status: 409 })
    expect(requests).toHaveLength(5)
    const patient = await service(...Array.from({ length: 6 }, () => inProgress), { status: 200 })
    await patient.client({ retries: 1 }).sendSignal(signal, { idempotencyKey: 'k-3' })
    expect(patient.requests).toHaveLength(7)
  })

  it('rejects after a timeout, and at once when it is aborted', async () => {
    const { client } = await service('silence', 'silence', 'silence')
    await expect(client({ timeoutMs: 50, retries: 0 }).listSessions()).rejects.toBeInstanceOf(NoAnswerError)
    const ending = new AbortController()
    const listing = client().listSessions(undefined, { signal: ending.signal })
    const stopping = client().stopRecording('take', { signal: ending.signal })
    ending.abort(new Error('enough'))
    await expect(listing).rejects.toThrow('enough')
    await expect(stopping).rejects.toThrow('enough')
  })

  it('rejects with the reason of an abort while it waits before a retry', async () => {
    const { client } = await service(BUSY)
    const ending = new AbortController()
    const listing = client({ maxRetryWaitMs: 60_000 }).listSessions(undefined, { signal: ending.signal })
    // The answer arrives long before.
    setTimeout(() => ending.abort(new Error('enough')), 100)
    await expect(listing).rejects.toThrow('enough')
  })

  it('has its defaults for options that are undefined, and rejects with the cause when one is invalid', async () => {
    const { requests, client } = await service('reset', LIST)
    const defaults = { timeoutMs: undefined, retries: undefined, maxRetryWaitMs: undefined }
    expect(await client(defaults).listRecordings()).toEqual(LIST.body)
    expect(requests).toHaveLength(2)
    await expect(client({ timeoutMs: Infinity }).listRecordings()).rejects.toThrow(RangeError)
  })
})
