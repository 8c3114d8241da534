import { LIVE_VIEWS, type LiveViewName } from '@session-service/contract/dashboard'
import { describe, expect, it } from '@jest/globals'
import type { Credential } from '../../../platform/authentication/basic-credentials.js'
import { maySee, rightsOf, viewRefusal } from './rights.js'

const ALL: Credential = { name: 'main', role: 'all' }
const READER: Credential = { name: 'reports', role: 'read-only' }
const TENANT: Credential = { name: 'tenant', role: 'session-prefix', prefix: 'a_' }
const QUERIES: Partial<Record<LiveViewName, object>> = { session: { id: 'b_1' }, 'media-node': { id: 'north' } }

describe('the rights to views', () => {
  it.each<[view: LiveViewName, all: boolean, reader: boolean, tenant: boolean]>([
    ['overview', true, true, true],
    ['media-nodes', true, false, false],
    ['media-node', true, false, false],
    ['sessions', true, true, true],
    ['session', true, true, false],
    ['recordings', true, true, true],
    ['events', true, true, true],
    ['dead-letters', true, true, false],
    ['configuration', true, false, false],
  ])('%s', (view, ...expected) => {
    const query = LIVE_VIEWS[view].parse(QUERIES[view] ?? {})
    expect([ALL, READER, TENANT].map((each) => viewRefusal(view, query, each) === undefined)).toEqual(expected)
  })

  it('include for session-prefix the sessions with its prefix', () => {
    expect(viewRefusal('session', { id: 'a_1' }, TENANT)).toBeUndefined()
    expect(viewRefusal('session', { id: 'xa_1' }, TENANT)).toContain('start with "a_"')
  })

  it('decide which parts other views have', () => {
    const lists = ['media-nodes', 'dead-letters', 'configuration', 'events'] as const
    const of = (credential: Credential) => lists.map((view) => maySee(rightsOf(credential), view))
    expect([of(ALL), of(READER), of(TENANT)]).toEqual([
      [true, true, true, true],
      [false, true, false, true],
      [false, false, false, true],
    ])
  })
})
