import { expect, test } from '@jest/globals'
import { interleave } from './interleave.js'

test('both sides run by turns, each pair the other way round', async () => {
  const order: string[] = []
  const step = (name: string) => async () => order.push(name)
  const results = await interleave(3, { ours: step('ours'), reference: step('reference') })
  expect(order).toEqual(['ours', 'reference', 'reference', 'ours', 'ours', 'reference'])
  expect(results).toEqual({ ours: [1, 4, 5], reference: [2, 3, 6], dropped: 0 })
})

test('a pair with a spoilt run is done again', async () => {
  const values = [1, 2, -1, 4, 5]
  const results = await interleave(3, {
    ours: async () => values.shift() ?? 9,
    reference: async () => 7,
    sound: (value) => value > 0,
  })
  expect(results).toEqual({ ours: [1, 2, 4], reference: [7, 7, 7], dropped: 1 })
})

test('a machine on which nothing works is an error', async () => {
  const run = async () => 0
  await expect(interleave(2, { ours: run, reference: run, sound: () => false })).rejects.toThrow(
    '6 of 6 pairs of runs were spoilt',
  )
})
