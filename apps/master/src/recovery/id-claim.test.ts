import { expect, it } from '@jest/globals'
import { type ClaimDecision, decideClaim, type IdClaim } from './id-claim.js'

const claim = (changes: Partial<IdClaim>): IdClaim => ({
  holder: 'absent',
  isConnected: true,
  isAliveElsewhere: false,
  busConnectedMs: Infinity,
  ...changes,
})

it.each<[string, Partial<IdClaim>, ClaimDecision]>([
  ['refuses a process while the holder answers', { holder: 'alive' }, 'refuse'],
  ['refuses a process when the holder was lost and answers again', { holder: 'alive', isConnected: false }, 'refuse'],
  ['admits a process at once when the holder has left the bus', {}, 'admit'],
  ['admits a process when the holder is lost and silent', { holder: 'silent', isConnected: false }, 'admit'],
  [
    'admits a process when the holder is lost, also right after an outage of the bus',
    { isConnected: false, busConnectedMs: 0 },
    'admit',
  ],
  ['makes a process wait while the holder may be frozen', { holder: 'silent' }, 'wait'],
  [
    'makes a process wait while only another master receives heartbeats of the holder',
    { isAliveElsewhere: true },
    'wait',
  ],
  ['makes a process wait while processes may still be reconnecting', { busConnectedMs: 2_999 }, 'wait'],
])('%s', (_, changes, decision) => {
  expect(decideClaim(claim(changes))).toBe(decision)
})
