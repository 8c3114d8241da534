import { expect, it } from '@jest/globals'
import { budgetMs } from './time-budget.js'
import { pauseMs, until } from './until.js'

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

it('until sees what happened while this process was blocked beyond the deadline', async () => {
  let attempts = 0
  const block = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end;);
  }
  const value = await until(
    'the second attempt',
    () => {
      if (++attempts === 1) block(budgetMs(30))
      return attempts === 2
    },
    20,
  )
  expect(value).toBe(true)
})

it.each([
  [0, 25],
  [500, 25],
  [1_000, 50],
  [2_000, 100],
  [60_000, 100],
])('after %s ms until pauses for %s ms', (elapsed, pause) => {
  expect(pauseMs(elapsed)).toBe(pause)
})
