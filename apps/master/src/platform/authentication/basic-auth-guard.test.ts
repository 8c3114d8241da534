import { describe, expect, it } from '@jest/globals'
import { BasicCredentials } from './basic-credentials.js'
import { RateLimiter } from './rate-limiter.js'
import { BasicAuthGuard } from './basic-auth-guard.js'

const basic = (secret: string): string => `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
const RIGHT = basic('right-secret')
const WRONG = basic('guess')

function guardAt(clock: { now: number }): (authorization: string | undefined, address?: string) => number {
  const attempts = new RateLimiter({ burst: 3, perSecond: 0.5, sources: 100 })
  const guard = new BasicAuthGuard(new BasicCredentials([{ name: 'main', secret: 'right-secret', role: 'all' }]), {
    attempts,
    now: () => clock.now,
  })
  return (authorization, address = '192.0.2.1') => {
    const result = guard.authenticate(authorization, address)
    return 'status' in result ? result.status : 200
  }
}

describe('BasicAuthGuard', () => {
  it('accepts valid credentials from an address that never stops guessing', () => {
    const clock = { now: 0 }
    const request = guardAt(clock)
    const guesses: number[] = []
    for (let i = 0; i < 200; i++) {
      guesses.push(request(WRONG))
      expect(request(RIGHT)).toBe(200)
      clock.now += 500
    }
    expect(guesses.filter((status) => status === 429).length).toBeGreaterThan(100)
  })

  it('throttles wrong credentials per address for a while', () => {
    const clock = { now: 0 }
    const request = guardAt(clock)
    expect([1, 2, 3, 4].map(() => request(WRONG))).toEqual([401, 401, 401, 429])
    expect(request(WRONG, '192.0.2.2')).toBe(401)
    clock.now += 60_000
    expect(request(WRONG)).toBe(401)
  })

  it('answers 401 to any number of requests without credentials, and counts none of them', () => {
    const request = guardAt({ now: 0 })
    for (let i = 0; i < 100; i++) expect(request(undefined)).toBe(401)
    expect(request(WRONG)).toBe(401)
    for (let i = 0; i < 100; i++) request(WRONG)
    expect([request(WRONG), request(undefined)]).toEqual([429, 401])
  })
})
