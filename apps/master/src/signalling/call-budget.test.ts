import { describe, expect, it } from '@jest/globals'
import { CallBudget } from './call-budget.js'

const spendAll = (budget: CallBudget, now: number): number => {
  let spent = 0
  while (budget.spend(now)) spent++
  return spent
}

describe('CallBudget', () => {
  it('allows a burst, then the steady rate, and never more than a burst saved up', () => {
    const budget = new CallBudget(0)
    expect(spendAll(budget, 0)).toBe(400)
    expect(spendAll(budget, 500)).toBe(50)
    expect(spendAll(budget, 100_000)).toBe(400)
  })
})
