import { describe, expect, it } from '@jest/globals'
import { requestedRange, contentRange } from './byte-range.js'

describe('requestedRange', () => {
  it.each([
    ['bytes=0-499', { from: 0, to: 499 }],
    ['bytes=500-', { from: 500, to: 999 }],
    ['bytes=999-', { from: 999, to: 999 }],
    ['bytes=-1', { from: 999, to: 999 }],
    ['bytes=-2000', { from: 0, to: 999 }],
    ['bytes=0-0', { from: 0, to: 0 }],
    ['bytes=10-99999', { from: 10, to: 999 }],
    ['Bytes = 1 - 2 ', { from: 1, to: 2 }],
    ['bytes=1000-', 'unsatisfiable'],
    ['bytes=5-4', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=-', 'unsatisfiable'],
    ['bytes=', 'unsatisfiable'],
    ['bytes=a-b', 'unsatisfiable'],
    ['bytes=--1', 'unsatisfiable'],
    ['bytes=1e2-', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    ['bytes=0-1,5-6', undefined],
    ['lines=0-1', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s of 1000 bytes', (header, range) => expect(requestedRange(header, 1_000)).toEqual(range))

  it('does not search long white space again from each of its characters, which takes minutes', async () => {
    expect(requestedRange(`bytes=${' '.repeat(300_000)}x`, 1_000)).toBe('unsatisfiable')
    expect(requestedRange(`bytes=-${' '.repeat(300_000)}x`, 1_000)).toBe('unsatisfiable')
    // Before the test is over, so that its time limit applies.
    await new Promise(setImmediate)
  })

  it.each(['bytes=0-', 'bytes=-5', 'bytes=0-0'])('%s of an empty file is unsatisfiable', (header) =>
    expect(requestedRange(header, 0)).toBe('unsatisfiable'),
  )
})

describe('contentRange', () => {
  it.each([
    ['bytes 0-9/10', { range: { from: 0, to: 9 }, size: 10 }],
    ['bytes 5-5/10', { range: { from: 5, to: 5 }, size: 10 }],
    ['bytes */0', { range: undefined, size: 0 }],
    ['bytes 0-10/10', undefined],
    ['bytes 5-4/10', undefined],
    ['bytes 0-9/*', undefined],
    ['bytes */10', undefined],
    ['bytes=0-9/10', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s', (header, parsed) => expect(contentRange(header)).toEqual(parsed))
})
