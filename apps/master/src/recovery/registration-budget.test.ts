import { expect, it } from '@jest/globals'
import { RegistrationBudget } from './registration-budget.js'

const takeMany = (budget: RegistrationBudget, times: number, now: number): number =>
  Array.from({ length: times }, () => budget.take(now)).filter(Boolean).length

it('registers 50 unknown media nodes at once and makes the others wait', () => {
  expect(takeMany(new RegistrationBudget(0), 270, 0)).toBe(50)
})

it('registers one more each second, and never saves up more than 50', () => {
  const budget = new RegistrationBudget(0)
  takeMany(budget, 50, 0)
  expect(takeMany(budget, 10, 900)).toBe(0)
  expect(takeMany(budget, 10, 3_000)).toBe(3)
  expect(takeMany(budget, 100, 1_000_000)).toBe(50)
})
