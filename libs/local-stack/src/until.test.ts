import { expect, it } from '@jest/globals'
import { budgetMs, until } from './until.js'

it('until returns the first value that is not undefined, null or false, including 0 and an empty text', async () => {
  const answers = [undefined, null, false, 0]
  expect(await until('a value', () => answers.shift())).toBe(0)
  expect(await until('a text', () => '')).toBe('')
})

it('until retries after a failed attempt', async () => {
  let attempts = 0
  const value = await until('the third attempt', () => {
    if (++attempts < 3) throw new Error('not yet')
    return attempts
  })
  expect(value).toBe(3)
})

it('until rejects after the deadline with its description and the last error', async () => {
  const limit = `not within ${budgetMs(60)} ms`
  await expect(until('the moon', () => false, 60)).rejects.toThrow(`${limit}: the moon`)
  const broken = () => Promise.reject(new Error('no sky'))
  await expect(until('the moon', broken, 60)).rejects.toThrow(`${limit}: the moon: no sky`)
})

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
