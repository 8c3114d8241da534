import { expect, it } from '@jest/globals'
import { interleave } from './interleave.js'

it('alternates the sides and reverses their order in every other pair', async () => {
  const order: string[] = []
  const step = (name: string) => async () => order.push(name)
  const results = await interleave(3, { ours: step('ours'), reference: step('reference') })
  expect(order).toEqual(['ours', 'reference', 'reference', 'ours', 'ours', 'reference'])
  expect(results).toEqual({ ours: [1, 4, 5], reference: [2, 3, 6], dropped: 0 })
})

it('repeats a pair that contains an invalid run', async () => {
  const values = [1, 2, -1, 4, 5]
  const results = await interleave(3, {
    ours: async () => values.shift() ?? 9,
    reference: async () => 7,
    isValid: (value) => value > 0,
  })
  expect(results).toEqual({ ours: [1, 2, 4], reference: [7, 7, 7], dropped: 1 })
})

it('throws when no pair of runs is valid', async () => {
  const run = async () => 0
  await expect(interleave(2, { ours: run, reference: run, isValid: () => false })).rejects.toThrow(
    '6 of 6 pairs of runs were invalid',
  )
})
