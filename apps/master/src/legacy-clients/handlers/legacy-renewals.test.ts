import { beforeEach, expect, it } from '@jest/globals'
import { LegacyRenewals } from './legacy-renewals.js'

let now: number
let renewals: LegacyRenewals
beforeEach(() => {
  now = 100
  renewals = new LegacyRenewals(() => now)
})

it('a client that has renewed nothing yet is quiet', () => {
  expect(renewals.quietMs).toBe(Number.POSITIVE_INFINITY)
})

it('a client is quiet since what precedes a renewal', () => {
  renewals.expect()
  now += 40
  expect(renewals.quietMs).toBe(40)
})

it('a client is not quiet before the answers to all of its calls, also when one fails', async () => {
  const [publish, receive] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const calls = [publish, receive].map(({ promise }) => renewals.run(() => promise))
  now += 1_000
  expect(renewals.quietMs).toBe(0)
  publish.resolve('answered')
  expect(await calls[0]).toBe('answered')
  now += 10
  expect(renewals.quietMs).toBe(0)
  receive.reject(new Error('refused'))
  await expect(calls[1]).rejects.toThrow('refused')
  now += 10
  expect(renewals.quietMs).toBe(10)
})
