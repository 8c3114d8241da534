import { expect, it } from '@jest/globals'
import { budgetMs, calmTimeout } from './time-budget.js'

it('budgetMs scales with the slowness of the machine', () => {
  const measured = process.env.TEST_SLOWNESS
  try {
    process.env.TEST_SLOWNESS = '2.5'
    expect(budgetMs(1_000)).toBe(2_500)
    delete process.env.TEST_SLOWNESS
    expect(budgetMs(1_000)).toBe(1_000)
  } finally {
    if (measured !== undefined) process.env.TEST_SLOWNESS = measured
  }
})

it('calmTimeout calls its task once the budget is over, and not before', async () => {
  const startedAt = performance.now()
  await new Promise<void>((resolve) => calmTimeout(resolve, 20))
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(budgetMs(20))
})

it('calmTimeout does not call a task that was cancelled', async () => {
  let calls = 0
  calmTimeout(() => calls++, 20)()
  await new Promise<void>((resolve) => calmTimeout(resolve, 40))
  expect(calls).toBe(0)
})
