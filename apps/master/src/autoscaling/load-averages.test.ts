import { expect, test } from '@jest/globals'
import { LoadAverages } from './load-averages.js'

test('what was seen since the last time is averaged, node by node', () => {
  const loads = new LoadAverages()
  for (const load of [10, 20, 90]) loads.add('a', load)
  loads.add('b', 33.333)
  expect([...loads.take()]).toEqual([
    ['a', 40],
    ['b', 33.33],
  ])
  loads.add('a', 1)
  expect([...loads.take()]).toEqual([['a', 1]])
})
