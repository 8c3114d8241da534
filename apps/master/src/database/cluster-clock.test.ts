import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { ClusterClock } from './cluster-clock.js'

let clock: ClusterClock
beforeEach(() => {
  jest.useFakeTimers({ now: 1_000_000 })
  clock = new ClusterClock()
})
afterEach(() => {
  jest.useRealTimers()
})

/** The database is so far ahead, and its answer took so long on one way. */
function look(aheadMs: number, { there = 1, back = 1 } = {}): void {
  const askedAt = Date.now()
  jest.advanceTimersByTime(there + back)
  clock.note({ askedAt, answeredAt: askedAt + there + back, databaseAt: askedAt + there + aheadMs })
}

describe('the clock of the cluster', () => {
  it('is the machine’s until it has looked at the database’s', () => {
    expect(clock.now()).toBe(Date.now())
  })

  it.each([10_000, -10_000, 0, 3])('is the database’s, which is %d ms ahead', (ahead) => {
    look(ahead)
    expect(clock.now() - Date.now()).toBe(ahead)
  })

  it('goes by the quickest answer of the last few', () => {
    look(10_000)
    look(10_000, { there: 400, back: 1 })
    expect(clock.now() - Date.now()).toBe(10_000)
  })

  it('follows the database’s clock after a while', () => {
    look(10_000)
    for (let n = 0; n < 16; n++) look(10_050, { there: 2, back: 2 })
    expect(clock.now() - Date.now()).toBe(10_050)
  })

  it('stands still rather than going back, unless it was wrong by far', () => {
    look(10_000)
    const before = clock.now()
    for (let n = 0; n < 16; n++) look(0)
    expect(clock.now()).toBe(before)
    jest.advanceTimersByTime(20_000)
    expect(clock.now()).toBe(Date.now())
    for (let n = 0; n < 16; n++) look(-3_600_000)
    expect(clock.now() - Date.now()).toBe(-3_600_000)
  })
})
