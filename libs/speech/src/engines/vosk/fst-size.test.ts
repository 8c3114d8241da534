import { describe, expect, it } from '@jest/globals'
import { type Content, isCutOff } from './fst-size.js'

const int32 = (...values: number[]): Buffer => Buffer.from(Int32Array.from(values).buffer)
const int64 = (...values: number[]): Buffer => Buffer.from(BigInt64Array.from(values.map(BigInt)).buffer)
const text = (word: string): Buffer => Buffer.concat([int32(word.length), Buffer.from(word)])

const content = (bytes: Buffer): Content => ({
  size: bytes.length,
  read: (at, length) => bytes.subarray(at, at + length),
})

const graph = (type: string, { flags = 0, states = 0, arcs = 0, arc = 'standard' } = {}): Buffer =>
  Buffer.concat([int32(2_125_659_606), text(type), text(arc), int32(1, flags), int64(0, 0, states, arcs)])

const constant = Buffer.concat([graph('const', { states: 3, arcs: 4 }), Buffer.alloc(3 * 20 + 4 * 16)])

/** Sets of none, two and one intervals, for the second part only. */
const reachable = Buffer.concat([
  Buffer.from([1, 0, 1, 0, 1]),
  int64(2),
  int32(5, 6, 7, 8),
  int32(-1),
  int64(3),
  ...[0, 2, 1].flatMap((intervals) => [int64(intervals), Buffer.alloc(intervals * 8 + 4)]),
])
const lookahead = Buffer.concat([graph('olabel_lookahead'), int32(446_681_434), constant, reachable])

describe('a graph of OpenFst', () => {
  it.each([
    ['of states and arcs', constant],
    ['with reachable labels', lookahead],
  ])('is whole with its last byte, and cut off without it: %s', (_kind, bytes) => {
    expect(isCutOff(content(bytes))).toBe(false)
    for (let length = 0; length < bytes.length; length++)
      expect([length, isCutOff(content(bytes.subarray(0, length)))]).toEqual([length, true])
  })

  it.each([
    ['another type', graph('ngram', { states: 9_999 })],
    ['another kind of arcs', graph('const', { arc: 'log', states: 9_999 })],
    ['aligned parts', graph('const', { flags: 4, states: 9_999 })],
    ['another file', Buffer.from('this file is no graph')],
  ])('is not examined when it has %s', (_kind, bytes) => {
    expect(isCutOff(content(bytes))).toBe(false)
  })
})
