import { expect, it } from '@jest/globals'
import { cutEnd, writtenAt } from './cut-end.js'

const AHEAD_MS = 3_600_000
/** The clock of a cluster that is an hour ahead of this machine. */
const clock = { now: (): number => Date.now() + AHEAD_MS }

it('the last write of a file is converted to cluster time', () => {
  const mtimeMs = Date.now() - 5_000
  expect(Math.abs(writtenAt(mtimeMs, clock) - (mtimeMs + AHEAD_MS))).toBeLessThan(1_000)
})

it.each([
  { what: 'at the last write', writtenAgoMs: 5_000, expected: -5_000 },
  { what: 'not before its start', writtenAgoMs: 60_000, expected: -10_000 },
  { what: 'not after its death was noticed', writtenAgoMs: -60_000, expected: 0 },
])('a truncated file ends $what', ({ writtenAgoMs, expected }) => {
  const now = clock.now()
  const end = cutEnd({ startedAt: now - 10_000, endedAt: now }, Date.now() - writtenAgoMs, clock)
  expect(Math.abs(end - now - expected)).toBeLessThan(1_000)
})
