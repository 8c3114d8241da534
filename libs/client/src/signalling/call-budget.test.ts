import { SIGNALLING_LIMITS } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { CallBudget } from './call-budget.js'

const KB = 1_024

describe('CallBudget', () => {
  /** The numbers of calls of `bytes` that may be sent at these times, ms. */
  const sent = (bytes: number, times: number[]): number[] => {
    const budget = new CallBudget(0)
    return times.map((now) => {
      let count = 0
      while (budget.take(bytes, now) === 0) count++
      return count
    })
  }

  it.each<[string, number, number[], number[]]>([
    ['a burst of small calls, then some each second', 100, [0, 0, 1_000, 2_000, 2_500], [320, 0, 80, 80, 40]],
    ['no more than a burst after a long time', 100, [0, 3_600_000], [320, 320]],
    ['fewer calls of many bytes', 64 * KB, [0, 1_000, 2_000], [51, 6, 7]],
    ['the largest frames too', 256 * KB, [0, 100, 500, 1_000], [12, 0, 1, 1]],
  ])('permits %s', (_, bytes, times, expected) => {
    expect(sent(bytes, times)).toEqual(expected)
  })

  it('names the time after which the next call is permitted', () => {
    const budget = new CallBudget(0)
    while (budget.take(0, 0) === 0);
    const ms = budget.take(0, 0)
    expect([budget.take(0, ms - 1) > 0, budget.take(0, ms)]).toEqual([true, 0])
  })

  it('stays within the limits of the server, with calls to spare', () => {
    const [first = 0, second = 0] = sent(0, [0, 1_000])
    expect(first).toBeLessThan(SIGNALLING_LIMITS.calls.burst)
    expect(second).toBeLessThan(SIGNALLING_LIMITS.calls.perSecond)
  })
})
