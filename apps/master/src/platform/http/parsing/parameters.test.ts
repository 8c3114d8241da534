import { ServiceError } from '@session-service/contract'
import { ROUTES } from '@session-service/contract/rest-api'
import { describe, expect, it } from '@jest/globals'
import { isTrue, parsePathParameter, parseQuery } from './parameters.js'

describe('parsePathParameter', () => {
  it.each(['ses_A', 'a', '-_', 'x'.repeat(200)])('accepts %s', (id) => {
    expect(parsePathParameter('sessionId', id)).toBe(id)
  })

  it.each(['', '\0', 'a\0b', 'a b', 'ä', '..', 'a/b', 'a~1', 'a\n', 'x'.repeat(201)])(
    'answers as for a missing session to %j',
    (id) => {
      expect(() => parsePathParameter('sessionId', id)).toThrow(ServiceError)
      expect(() => parsePathParameter('sessionId', id)).toThrow(/^sessionId: /)
    },
  )

  it('accepts the ids of later recordings of a session', () => {
    expect(parsePathParameter('recordingId', 'room~2')).toBe('room~2')
  })
})

describe('parseQuery', () => {
  const { query: PENDING } = ROUTES.listSessions
  const { query: REMOVAL } = ROUTES.removeMediaNode

  it.each<[string, object, boolean]>([
    ['true', { pendingConnections: 'true' }, true],
    ['any case', { pendingConnections: 'TRUE' }, true],
    ['false', { pendingConnections: 'False' }, false],
    ['neither: the default', { pendingConnections: 'maybe' }, true],
    ['NUL: the default', { pendingConnections: '\0' }, true],
    ['nothing: the default', {}, true],
    [
      'what is not known, also repeated',
      { toString: ['a', 'b'], constructor: 'x', pendingConnections: 'false' },
      false,
    ],
  ])('reads a flag: %s', (_, query, expected) => {
    expect(isTrue(parseQuery(PENDING, query).pendingConnections, { byDefault: true })).toBe(expected)
  })

  it('rejects by name a parameter that is given more than once', () => {
    expect(() => parseQuery(PENDING, { pendingConnections: ['true', 'false'] })).toThrow(
      'pendingConnections: must be given only once',
    )
    expect(() => parseQuery(REMOVAL, { 'deletion-strategy': ['now', 'now'] })).toThrow(
      'deletion-strategy: must be given only once',
    )
  })

  it('rejects by name a value that does not match the schema', () => {
    expect(() => parseQuery(REMOVAL, { 'deletion-strategy': 'now\0' })).toThrow(/^deletion-strategy: /)
    expect(parseQuery(REMOVAL, { 'deletion-strategy': 'now', wait: 'yes' })).toEqual({ 'deletion-strategy': 'now' })
  })
})
