import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from '@jest/globals'
import { NoAnswerError, RestError } from './errors.js'
import { RestClient } from './rest-client.js'

interface Reply {
  status: number
  body?: unknown
  headers?: Record<string, string>
}
interface Asked {
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

/** A service that gives these answers, one after the other; 'silence' is none. */
async function service(...replies: (Reply | 'silence' | 'reset')[]) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, body })
      const reply = replies[asked.length - 1] ?? { status: 500 }
      if (reply === 'silence') return undefined
      if (reply === 'reset') return request.socket.destroy()
      response.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8', ...reply.headers })
      return response.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/path`
  return { asked, client: (options = {}) => new RestClient({ url, secret: 'hush', maxRetryWaitMs: 10, ...options }) }
}

const BUSY: Reply = { status: 503, headers: { 'retry-after': '2' }, body: {} }
const LIST: Reply = { status: 200, body: { count: 0, items: [] } }

describe('RestClient', () => {
  it('asks by path, query, body and credentials', async () => {
    const { asked, client } = await service(
      { status: 200, body: { numberOfElements: 0, content: [] } },
      { status: 200 },
    )
    await client().listConnections('a/b c', { pendingConnections: 'false' })
    await client().sendSignal({ session: 's', data: 'x' })
    expect(asked[0]).toMatchObject({
      method: 'GET',
      url: '/service/api/sessions/a%2Fb%20c/connection?pendingConnections=false',
      headers: { authorization: `Basic ${Buffer.from('SERVICEAPP:hush').toString('base64')}` },
    })
    expect(asked[0]?.headers).not.toHaveProperty('content-type')
    expect(asked[1]).toMatchObject({ method: 'POST', url: '/service/api/signal', body: '{"session":"s","data":"x"}' })
    expect(asked[1]?.headers['content-type']).toBe('application/json')
  })

  it.each(['', '.', '..'])('sends nothing for the id "%s", which would name another path', async (id) => {
    const { asked, client } = await service({ status: 204 })
    await expect(client().deleteDeadLetter(id)).rejects.toThrow(`eventId: "${id}" is not an id`)
    expect(asked).toEqual([])
  })

  it('rejects with the status and what the service says of it', async () => {
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

  it('refuses an answer that is not of the contract', async () => {
    const { client } = await service({ status: 200, body: { count: 'many', items: [] } })
    await expect(client().listRecordings()).rejects.toThrow('count')
  })

  it('takes UNSTABLE and DOWN for answers', async () => {
    const down = { status: 'DOWN', disconnectedMediaNodes: [] }
    const { client } = await service({ status: 503, body: down })
    expect(await client().getHealth()).toEqual(down)
  })

  it('repeats what may be repeated when the service is busy, as often as allowed', async () => {
    const { asked, client } = await service(BUSY, 'reset', LIST, BUSY, BUSY, LIST)
    expect(await client().listRecordings()).toEqual(LIST.body)
    expect(asked).toHaveLength(3)
    await expect(client({ retries: 1 }).listRecordings()).rejects.toMatchObject({ status: 503 })
    expect(asked).toHaveLength(5)
  })

  it('never repeats a POST without a key, nor a 503 that does not ask for it', async () => {
    const { asked, client } = await service(BUSY, 'reset', { status: 503, body: {} })
    await expect(client().createSession()).rejects.toMatchObject({ status: 503 })
    await expect(client().createSession()).rejects.toBeInstanceOf(NoAnswerError)
    await expect(client().listSessions()).rejects.toMatchObject({ status: 503 })
    expect(asked).toHaveLength(3)
  })

  it('repeats a POST that bears a key, under that key, also while an earlier one is under way', async () => {
    const underWay: Reply = { status: 409, headers: { 'retry-after': '1' }, body: {} }
    const { asked, client } = await service(BUSY, 'reset', underWay, { status: 200 }, { status: 409, body: {} })
    const signal = { session: 's', data: 'x' }
    await client().sendSignal(signal, { idempotencyKey: 'k-1' })
    expect(asked.map(({ headers }) => headers['idempotency-key'])).toEqual(['k-1', 'k-1', 'k-1', 'k-1'])
    await expect(client().sendSignal(signal, { idempotencyKey: 'k-2' })).rejects.toMatchObject({ status: 409 })
    expect(asked).toHaveLength(5)
    const patient = await service(...Array.from({ length: 6 }, () => underWay), { status: 200 })
    await patient.client({ retries: 1 }).sendSignal(signal, { idempotencyKey: 'k-3' })
    expect(patient.asked).toHaveLength(7)
  })

  it('gives up on silence, and at once when told to', async () => {
    const { client } = await service('silence', 'silence')
    await expect(client({ timeoutMs: 50, retries: 0 }).listSessions()).rejects.toBeInstanceOf(NoAnswerError)
    const ending = new AbortController()
    const listing = client().listSessions(undefined, { signal: ending.signal })
    ending.abort(new Error('enough'))
    await expect(listing).rejects.toThrow('enough')
  })
})
