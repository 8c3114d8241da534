import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { failure, half, json, reset, ScriptedApiServer } from './fixtures/api-server.js'

const POD = { metadata: { name: 'pod-1', uid: 'uid-1' }, spec: {}, status: { phase: 'Running' } }
const never = new AbortController().signal
let server: ScriptedApiServer

beforeEach(async () => {
  server = await ScriptedApiServer.start()
})
afterEach(() => server.stop())

const requests = (): string[] => server.received.map(({ method, url }) => `${method} ${url.pathname}`)

describe('a request to the Kubernetes API', () => {
  it.each([
    ['a connection that was reset', reset],
    ['half an answer', half],
    ['too many requests', failure(429, 'TooManyRequests', { 'retry-after': '0' })],
    ['an overloaded server', failure(503, 'ServiceUnavailable')],
    ['a server that failed', failure(500, 'InternalError')],
  ])('is repeated after %s', async (_, fault) => {
    server.will(fault, fault, json(POD))
    expect((await server.api.pod('pod-1'))?.metadata.uid).toBe('uid-1')
    expect(requests()).toEqual(Array.from({ length: 3 }, () => 'GET /api/v1/namespaces/calls/pods/pod-1'))
  })

  it('fails with the reason of the server when repeating it does not help', async () => {
    server.will(failure(503, 'ServiceUnavailable'))
    await expect(server.api.pod('pod-1')).rejects.toMatchObject({ status: 503, reason: 'ServiceUnavailable' })
    expect(requests()).toHaveLength(4)
  })

  it('is left to the caller when the server asks for a long pause', async () => {
    server.will(failure(429, 'TooManyRequests', { 'retry-after': '3600' }))
    await expect(server.api.pod('pod-1')).rejects.toMatchObject({ status: 429, retryAfterMs: 3_600_000 })
    expect(requests()).toHaveLength(1)
  })

  it('reads the token again when the server refuses it, and once only', async () => {
    server.will((received, response) => {
      server.token = 'second'
      if (received.token === 'first') failure(401, 'Unauthorized')(received, response)
      else json(POD)(received, response)
    })
    await server.api.pod('pod-1')
    expect(server.received.map(({ token }) => token)).toEqual(['first', 'second'])
    server.received.length = 0
    server.token = 'first'
    server.will(failure(401, 'Unauthorized'))
    server.will(failure(401, 'Unauthorized'))
    await expect(server.api.pod('pod-1')).rejects.toMatchObject({ status: 401 })
    expect(server.received.length).toBe(2)
  })

  it.each([
    [403, 'Forbidden'],
    [422, 'Invalid'],
  ])('is not repeated after status %d', async (status, reason) => {
    server.will(failure(status, reason))
    await expect(server.api.createPod({}, never)).rejects.toMatchObject({ status, reason })
    expect(requests()).toHaveLength(1)
  })

  it('ends when it is aborted', async () => {
    const aborted = new AbortController()
    server.will(() => aborted.abort(new Error('too late')))
    await expect(server.api.pod('pod-1', aborted.signal)).rejects.toThrow('too late')
    expect(requests()).toHaveLength(1)
  })

  it('rejects an answer of another form', async () => {
    server.will(json({ metadata: {} }))
    await expect(server.api.pod('pod-1')).rejects.toThrow(/name/)
  })
})

describe('the operations on pods', () => {
  it('report a pod of the same name, for a creation that was repeated after a lost answer', async () => {
    server.will(half, failure(409, 'AlreadyExists'))
    expect(await server.api.createPod({ kind: 'Pod' }, never)).toBe(false)
  })

  it('do not take another conflict for a pod of the same name', async () => {
    server.will(failure(409, 'Conflict'))
    await expect(server.api.createPod({ kind: 'Pod' }, never)).rejects.toMatchObject({ reason: 'Conflict' })
  })

  it('delete exactly the pod with the uid, within the grace period', async () => {
    server.will(json({}))
    await server.api.deletePod({ name: 'pod-1', uid: 'uid-1' }, 30)
    expect(server.received[0]).toMatchObject({
      method: 'DELETE',
      body: { kind: 'DeleteOptions', gracePeriodSeconds: 30, preconditions: { uid: 'uid-1' } },
    })
  })

  it.each([404, 409])('delete nothing without an error after status %d', async (status) => {
    server.will(failure(status, 'NotFound'))
    await server.api.deletePod({ name: 'pod-1', uid: 'uid-1' }, undefined)
  })

  it('find nothing where nothing is', async () => {
    server.will(failure(404, 'NotFound'))
    expect(await server.api.pod('pod-1')).toBeUndefined()
    expect(await server.api.podTemplate('template')).toBeUndefined()
    expect(await server.api.node('machine')).toBeUndefined()
    expect(await server.api.annotatePod('pod-1', { a: 'b' })).toBe(false)
  })

  it('list all pages, and begin again when a page has expired', async () => {
    const page = (name: string, next: string) =>
      json({ metadata: { resourceVersion: '7', continue: next }, items: [{ ...POD, metadata: { name } }] })
    server.will(page('a', 'more'), failure(410, 'Expired'), page('b', 'more'), page('c', ''))
    const { items, resourceVersion } = await server.api.pods('app=calls')
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['b', 'c'])
    expect(resourceVersion).toBe('7')
    expect(server.received.map(({ url }) => url.searchParams.get('continue'))).toEqual([null, 'more', null, 'more'])
    expect(server.received[0]?.url.searchParams.get('labelSelector')).toBe('app=calls')
  })
})
