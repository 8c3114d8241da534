import { describe, expect, it } from '@jest/globals'
import { RateLimiter, sourceOf } from './rate-limiter.js'

const LIMITS = { burst: 3, perSecond: 0.5, sources: 5 }

describe('RateLimiter', () => {
  it('throttles after the burst, gives the delay, and permits attempts again after it', () => {
    const attempts = new RateLimiter(LIMITS)
    expect([1, 2, 3].map(() => attempts.failed('a', 1000))).toEqual([false, false, true])
    expect(attempts.wait('a', 1000)).toBe(2)
    expect(attempts.wait('a', 2999)).toBe(1)
    expect(attempts.wait('a', 3000)).toBe(0)
    expect([attempts.failed('a', 3000), attempts.wait('a', 3000)]).toEqual([false, 2])
    expect(attempts.wait('a', 60_000)).toBe(0)
  })

  it('reports a source that never stops once, and again after a pause', () => {
    const attempts = new RateLimiter(LIMITS)
    let reports = 0
    for (let now = 0; now < 100_000; now += 500)
      if (attempts.wait('a', now) === 0 && attempts.failed('a', now)) reports++
    expect(reports).toBe(1)
    expect([1, 2, 3].map(() => attempts.failed('a', 300_000))).toEqual([false, false, true])
  })

  it('counts each source separately', () => {
    const attempts = new RateLimiter(LIMITS)
    for (let i = 0; i < 10; i++) attempts.failed('a', 0)
    expect(attempts.wait('b', 0)).toBe(0)
    expect(attempts.wait('a', 0)).toBeGreaterThan(0)
  })

  it('stores a bounded number of sources, and removes the one with the oldest failure first', () => {
    const attempts = new RateLimiter(LIMITS)
    for (let i = 0; i < 3; i++) attempts.failed('noisy', 0)
    for (let i = 0; i < 1000; i++) {
      attempts.failed(`source ${i}`, 0)
      if (i % 3 === 0) attempts.failed('noisy', 0)
    }
    expect(attempts.size).toBe(5)
    expect(attempts.wait('noisy', 0)).toBeGreaterThan(0)
    expect(attempts.wait('source 1', 0)).toBe(0)
  })
})

describe('sourceOf', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('the source of %s is %s', (address, source) => {
    expect(sourceOf(address)).toBe(source)
  })
})
