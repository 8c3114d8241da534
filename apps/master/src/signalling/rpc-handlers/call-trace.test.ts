import type { SignallingMethod } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { JOINING_MS, traceOf } from './call-trace.js'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

it.each<[string, string | null, SignallingMethod, number, object]>([
  ['a call soon after the join continues its trace', TRACE, 'publish', JOINING_MS, { parent: TRACE }],
  ['a later call links to it', TRACE, 'publish', JOINING_MS + 1, { link: TRACE }],
  ['a resume on a new socket links to it', TRACE, 'resume', 0, { link: TRACE }],
  ['a call of a participant without a recorded trace begins its own', null, 'publish', 0, {}],
])('%s', (_, traceContext, method, socketAgeMs, expected) => {
  expect(traceOf(traceContext, { method, socketAgeMs })).toEqual(expected)
})
