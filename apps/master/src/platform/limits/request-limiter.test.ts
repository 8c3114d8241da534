import { describe, expect, it } from '@jest/globals'
import { RequestLimiter } from './request-limiter.js'

function limiterAt(clock: { now: number }) {
  const limiter = new RequestLimiter({ burst: 3, perSecond: 0.5 }, () => clock.now)
  return (credential = 'one') => limiter.wait(credential)
}

describe('RequestLimiter', () => {
  it('permits a burst, then the steady rate, and gives the delay', () => {
    const clock = { now: 0 }
    const request = limiterAt(clock)
    expect([request(), request(), request(), request()]).toEqual([0, 0, 0, 2])
    clock.now = 1_500
    expect(request()).toBe(1)
    clock.now = 2_000
    expect([request(), request()]).toEqual([0, 2])
  })

  it('does not count refused requests', () => {
    const clock = { now: 0 }
    const request = limiterAt(clock)
    for (let nth = 0; nth < 100; nth++) request()
    clock.now = 2_000
    expect(request()).toBe(0)
  })

  it('limits each credential separately', () => {
    const request = limiterAt({ now: 0 })
    for (let nth = 0; nth < 10; nth++) request('noisy')
    expect([request('noisy'), request('quiet')]).toEqual([2, 0])
  })
})
