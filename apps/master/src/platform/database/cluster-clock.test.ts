import { describe, expect, it } from '@jest/globals'
import { ReferenceClock } from '@session-service/server-kit'
import { ClusterClock } from './cluster-clock.js'

const ORIGIN = 1_000_000

/** A cluster clock whose monotonic time passes only when it is advanced. */
function bench() {
  let monotonic = 0
  const clock = new ClusterClock(new ReferenceClock(() => monotonic, ORIGIN))
  return {
    clock,
    advance: (ms: number): void => void (monotonic += ms),
    /** The clock of the database is this far ahead of the origin. */
    sample: (aheadMs: number, { there = 1, back = 1 } = {}): number => {
      const askedAt = monotonic
      monotonic += there + back
      return clock.note({ askedAt, answeredAt: monotonic, referenceAt: ORIGIN + aheadMs + askedAt + there })
    },
    ahead: (): number => clock.now() - ORIGIN - monotonic,
  }
}

describe('ClusterClock', () => {
  it('is the wall clock of the start of the process until the first sample', () => {
    const { ahead } = bench()
    expect(ahead()).toBe(0)
  })

  it.each([10_000, -10_000, 0, 3])('follows the database, which is %d ms ahead', (by) => {
    const { sample, ahead } = bench()
    expect(sample(by)).toBe(0)
    expect(ahead()).toBe(by)
  })

  it('gives the time of an earlier monotonic time, by the latest sample', () => {
    const { clock, sample, advance } = bench()
    advance(500)
    sample(10_000)
    expect(clock.at(200)).toBe(ORIGIN + 10_200)
  })

  it('may go back with the first sample, which replaces the times of this machine', () => {
    const { clock, sample, ahead } = bench()
    clock.now()
    sample(-10_000)
    expect(ahead()).toBe(-10_000)
  })

  it('never goes backwards by less than a minute', () => {
    const { clock, advance, sample, ahead } = bench()
    sample(10_000)
    const before = clock.now()
    expect(sample(0)).toBe(-10_000)
    expect(clock.now()).toBe(before)
    advance(20_000)
    expect(ahead()).toBe(0)
  })

  it('goes backwards when the database was set back by more', () => {
    const { clock, sample, ahead } = bench()
    sample(0)
    clock.now()
    expect(sample(-3_600_000)).toBe(-3_600_000)
    expect(ahead()).toBe(-3_600_000)
  })
})
