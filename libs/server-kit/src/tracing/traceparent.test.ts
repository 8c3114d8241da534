import { expect, it } from '@jest/globals'
import { formatTraceparent, parseTraceparent } from './traceparent.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

it.each<[string, unknown, object | undefined]>([
  ['a sampled span', `00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, isSampled: true }],
  ['a span that is not sampled', `00-${TRACE}-${SPAN}-00`, { traceId: TRACE, spanId: SPAN, isSampled: false }],
  ['unknown flags', `00-${TRACE}-${SPAN}-fe`, { traceId: TRACE, spanId: SPAN, isSampled: false }],
  ['a later version with further parts', `01-${TRACE}-${SPAN}-01-x`, { traceId: TRACE, spanId: SPAN, isSampled: true }],
  ['further parts in version 00', `00-${TRACE}-${SPAN}-01-x`, undefined],
  ['the invalid version', `ff-${TRACE}-${SPAN}-01`, undefined],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
  ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  ['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
  ['a repeated header', [`00-${TRACE}-${SPAN}-01`], undefined],
  ['no header', undefined, undefined],
])('parseTraceparent reads %s', (_, value, expected) => {
  expect(parseTraceparent(value)).toEqual(expected)
})

it('formatTraceparent gives what parseTraceparent reads', () => {
  for (const isSampled of [true, false]) {
    const position = { traceId: TRACE, spanId: SPAN, isSampled }
    expect(parseTraceparent(formatTraceparent(position))).toEqual(position)
  }
})
