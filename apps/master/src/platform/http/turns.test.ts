import { expect, it } from '@jest/globals'
import { Turns } from './turns.js'

it('runs at most the limit of tasks at the same time, in order, and goes on after a failure', async () => {
  const turns = new Turns(2)
  const started: number[] = []
  let [running, most] = [0, 0]
  const tasks = Array.from({ length: 7 }, (_, index) =>
    turns.run(async () => {
      started.push(index)
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      if (index === 2) throw new Error('failed')
      return index
    }),
  )
  const results = await Promise.allSettled(tasks)
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true, true, true])
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(most).toBe(2)
  expect(await turns.run(async () => 'later')).toBe('later')
})
