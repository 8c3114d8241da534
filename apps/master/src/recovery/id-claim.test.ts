import { expect, it } from '@jest/globals'
import { type ClaimDecision, decideClaim, type IdClaim } from './id-claim.js'

const claim = (changes: Partial<IdClaim>): IdClaim => ({
  holder: 'absent',
  isConnected: true,
  isHeardElsewhere: false,
  busSettledMs: Infinity,
  ...changes,
})

it.each<[string, Partial<IdClaim>, ClaimDecision]>([
  ['refuses a process while the holder answers', { holder: 'alive' }, 'refuse'],
  ['refuses it also when the holder was lost and is back', { holder: 'alive', isConnected: false }, 'refuse'],
  ['admits it at once when the holder has left the bus', {}, 'admit'],
  ['admits it when the holder is lost and silent', { holder: 'silent', isConnected: false }, 'admit'],
  ['admits it when the holder is lost, whatever the bus', { isConnected: false, busSettledMs: 0 }, 'admit'],
  ['makes it wait while the holder may be frozen', { holder: 'silent' }, 'wait'],
  ['makes it wait while only another master hears the holder', { isHeardElsewhere: true }, 'wait'],
  ['makes it wait while processes may still be reconnecting', { busSettledMs: 2_999 }, 'wait'],
])('%s', (_, changes, decision) => {
  expect(decideClaim(claim(changes))).toBe(decision)
})
