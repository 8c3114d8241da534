import { describe, expect, it } from '@jest/globals'
import { ReferenceClock } from './reference-clock.js'

const ORIGIN = 1_000_000

function testClock() {
  let monotonic = 0
  const clock = new ReferenceClock(() => monotonic, ORIGIN)
  return {
    clock,
    advance: (ms: number): void => void (monotonic += ms),
    sample: (aheadMs: number, { there = 1, back = 1 } = {}): number => {
      const askedAt = monotonic
      monotonic += there + back
      return clock.note({ askedAt, answeredAt: monotonic, referenceAt: ORIGIN + aheadMs + askedAt + there })
    },
    ahead: (): number => clock.now() - ORIGIN - monotonic,
  }
}

describe('ReferenceClock', () => {
  it('advances from its origin until the first sample', () => {
    const { clock, advance } = testClock()
    advance(5_000)
    expect(clock.now()).toBe(ORIGIN + 5_000)
    expect(clock.isSynchronized).toBe(false)
  })

  it('prefers the sample with the shortest round trip among those that agree', () => {
    const { sample, ahead } = testClock()
    sample(10_000)
    expect(sample(10_000, { there: 400, back: 1 })).toBe(0)
    expect(ahead()).toBe(10_000)
  })

  it.each([30_000, -30_000, 3_600_000, -3_600_000, 20, -20])('follows a step of %d ms with one sample', (by) => {
    const { advance, sample, ahead } = testClock()
    for (let second = 0; second < 20; second++) {
      sample(0)
      advance(1_000)
    }
    expect(sample(by, { there: 2, back: 2 })).toBe(by)
    expect(ahead()).toBe(by)
  })

  it('detects a step also when the answer is slow', () => {
    const { advance, sample, ahead } = testClock()
    sample(0)
    advance(1_000)
    expect(sample(30_000, { there: 100, back: 100 })).toBe(30_000)
    expect(ahead()).toBe(30_000)
  })

  it('does not report a step that the delay of a slow answer explains', () => {
    const { advance, sample, ahead } = testClock()
    sample(0)
    advance(1_000)
    expect(sample(0, { there: 1_000, back: 1 })).toBe(0)
    expect(ahead()).toBe(0)
  })

  it('follows a drifting reference without reporting a step', () => {
    const { advance, sample, ahead } = testClock()
    let drift = 0
    for (let second = 0; second < 60; second++) {
      expect(sample(drift)).toBe(0)
      advance(1_000)
      drift += 0.1
    }
    expect(Math.abs(ahead() - drift)).toBeLessThan(3)
  })

  it('returns an uncorrected copy that follows the monotonic clock only', () => {
    const { clock, advance, sample } = testClock()
    sample(10_000)
    const line = clock.uncorrected()
    const before = line.now()
    sample(40_000)
    advance(1_000)
    expect(line.now() - before).toBe(1_002)
    expect(clock.now() - line.now()).toBe(30_000)
  })

  it('drops samples that are too old when newer samples arrive', () => {
    const { advance, sample, ahead } = testClock()
    sample(0)
    advance(60_000)
    expect(sample(25, { there: 20, back: 20 })).toBe(0)
    expect(ahead()).toBe(25)
  })
})
