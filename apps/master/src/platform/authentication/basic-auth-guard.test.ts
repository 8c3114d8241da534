import { describe, expect, it } from '@jest/globals'
import { BasicCredentials } from './basic-credentials.js'
import { RateLimiter } from './rate-limiter.js'
import { BasicAuthGuard } from './basic-auth-guard.js'

const basic = (secret: string): string => `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
const RIGHT = basic('right-secret')
const WRONG = basic('guess')

function gateAt(clock: { now: number }): (authorization: string | undefined, address?: string) => number {
  const attempts = new RateLimiter({ burst: 3, perSecond: 0.5, sources: 100 })
  const gate = new BasicAuthGuard(new BasicCredentials('right-secret'), attempts, () => clock.now)
  return (authorization, address = '192.0.2.1') => gate.refuse(authorization, address)?.status ?? 200
}

describe('BasicAuthGuard', () => {
  it('F3: lets right credentials pass from an address that never stops guessing', () => {
    const clock = { now: 0 }
    const ask = gateAt(clock)
    const guesses: number[] = []
    for (let i = 0; i < 200; i++) {
      guesses.push(ask(WRONG))
      expect(ask(RIGHT)).toBe(200)
      clock.now += 500
    }
    expect(guesses.filter((status) => status === 429).length).toBeGreaterThan(100)
  })

  it('F3: throttles wrong credentials by address until time has passed', () => {
    const clock = { now: 0 }
    const ask = gateAt(clock)
    expect([1, 2, 3, 4].map(() => ask(WRONG))).toEqual([401, 401, 401, 429])
    expect(ask(WRONG, '192.0.2.2')).toBe(401)
    clock.now += 60_000
    expect(ask(WRONG)).toBe(401)
  })

  it('answers 401 to requests without credentials, however many, and counts none of them', () => {
    const ask = gateAt({ now: 0 })
    for (let i = 0; i < 100; i++) expect(ask(undefined)).toBe(401)
    expect(ask(WRONG)).toBe(401)
    for (let i = 0; i < 100; i++) ask(WRONG)
    expect([ask(WRONG), ask(undefined)]).toEqual([429, 401])
  })
})
