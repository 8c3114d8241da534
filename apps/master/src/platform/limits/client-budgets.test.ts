import { SIGNALLING_LIMITS } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { ClientBudget, ClientBudgets } from './client-budgets.js'

const { calls, bytes, deliveries, deliveryOverhead } = SIGNALLING_LIMITS

describe('ClientBudget', () => {
  it('names the budget that a frame exceeds', () => {
    const budget = new ClientBudget(0)
    expect(budget.exceededBy(bytes.burst, 0)).toBeUndefined()
    expect(budget.exceededBy(1, 0)).toBe('bytes')
    for (let n = 2; n < calls.burst; n++) budget.exceededBy(1, 0)
    expect(budget.exceededBy(1, 0)).toBe('calls')
  })

  it('counts each delivery of a signal, with an overhead for short ones', () => {
    const budget = new ClientBudget(0)
    const recipients = deliveries.burst / deliveryOverhead
    expect(budget.maySend(0, recipients - 1, 0)).toBe(true)
    expect(budget.maySend(1, 1, 0)).toBe(false)
    expect(budget.maySend(0, 1, 0)).toBe(true)
  })
})

describe('the reports of a client', () => {
  it('count once in ten seconds, also on a new socket', () => {
    const budgets = new ClientBudgets()
    const mayReport = (now: number): boolean => {
      budgets.forgetFull(now)
      return budgets.of('con_a', now).mayReport(now)
    }
    expect([0, 1, 9_999, 10_000, 10_001, 20_000].map(mayReport)).toEqual([true, false, false, true, false, true])
  })
})

describe('ClientBudgets', () => {
  it('keeps the budget of a participant until it is full, so that a new socket does not fill it', () => {
    const budgets = new ClientBudgets()
    budgets.of('con_a', 0).exceededBy(bytes.burst, 0)
    budgets.of('con_b', 0)
    budgets.forgetFull(1_000)
    expect(budgets.size).toBe(1)
    expect(budgets.of('con_a', 1_000).exceededBy(bytes.burst, 1_000)).toBe('bytes')
    budgets.forgetFull(1_000 + (bytes.burst / bytes.perSecond) * 1_000)
    expect(budgets.size).toBe(0)
  })
})
