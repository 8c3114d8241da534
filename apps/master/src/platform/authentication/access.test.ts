import { describe, expect, it } from '@jest/globals'
import { type Access, refusalOf } from './access.js'
import type { Credential } from './basic-credentials.js'

const ALL: Credential = { name: 'main', role: 'all' }
const READER: Credential = { name: 'reports', role: 'read-only' }
const TENANT: Credential = { name: 'tenant', role: 'session-prefix', prefix: 'a_' }
const may = (access: Access, credential: Credential, method: string, { params = {}, body = {} } = {}): boolean =>
  refusalOf(access, credential, { method, params, body }) === undefined

describe('refusalOf', () => {
  it.each<[access: Access, method: string, all: boolean, reader: boolean, tenant: boolean]>([
    ['open', 'PUT', true, true, true],
    ['any', 'GET', true, true, true],
    ['any', 'HEAD', true, true, true],
    ['cluster', 'GET', true, true, false],
    ['cluster', 'POST', true, false, false],
    ['administration', 'GET', true, false, false],
    ['administration', 'DELETE', true, false, false],
    [{ session: 'list' }, 'GET', true, true, true],
    [{ session: 'path' }, 'GET', true, true, false],
    [{ session: 'path' }, 'DELETE', true, false, false],
    [{ session: 'recording' }, 'GET', true, true, false],
    [{ session: 'body' }, 'POST', true, false, false],
    [{ session: 'created' }, 'POST', true, false, false],
  ])('for %j and %s, without a session of the tenant', (access, method, all, reader, tenant) => {
    const request = { params: { sessionId: 'b_1', recordingId: 'b_1~1' }, body: { session: 'b', customSessionId: '' } }
    expect([ALL, READER, TENANT].map((credential) => may(access, credential, method, request))).toEqual([
      all,
      reader,
      tenant,
    ])
  })

  it.each<[Access, string, { params?: object; body?: object | null }, boolean]>([
    [{ session: 'path' }, 'its session', { params: { sessionId: 'a_1' } }, true],
    [{ session: 'path' }, 'a session named like the prefix', { params: { sessionId: 'a_' } }, true],
    [{ session: 'path' }, 'a session whose id contains the prefix', { params: { sessionId: 'xa_1' } }, false],
    [
      { session: 'path' },
      'its session in the body alone',
      { params: { sessionId: 'b' }, body: { session: 'a_1' } },
      false,
    ],
    [{ session: 'recording' }, 'a recording of its session', { params: { recordingId: 'a_1~2' } }, true],
    [{ session: 'recording' }, 'a file of a recording of its session', { params: { id: 'a_1' } }, true],
    [{ session: 'recording' }, 'a file of another recording', { params: { id: 'b_1' } }, false],
    [{ session: 'body' }, 'its session', { body: { session: 'a_1' } }, true],
    [{ session: 'body' }, 'no session', { body: {} }, false],
    [{ session: 'body' }, 'no body', { body: null }, false],
    [{ session: 'body' }, 'a session that is no text', { body: { session: ['a_1'] } }, false],
    [{ session: 'created' }, 'an id with its prefix', { body: { customSessionId: 'a_new' } }, true],
    [{ session: 'created' }, 'a generated id', { body: {} }, false],
  ])('for %j: the role session-prefix names %s', (access, _, request, expected) => {
    expect(may(access, TENANT, 'POST', request as { params?: object; body?: object })).toBe(expected)
  })

  it('names the credential, and the member that a creation lacks', () => {
    const request = { method: 'POST', params: {}, body: {} }
    expect(refusalOf({ session: 'created' }, TENANT, request)).toMatch(/^customSessionId: .*tenant.*"a_"/)
    expect(refusalOf('cluster', READER, request)).toContain('reports')
  })
})
