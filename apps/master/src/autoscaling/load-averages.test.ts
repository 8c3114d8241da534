import { expect, it } from '@jest/globals'
import { LoadAverages } from './load-averages.js'

it('averages the loads since the last call, by node', () => {
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
