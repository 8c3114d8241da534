import { expect, it } from '@jest/globals'
import { LastingDifferences } from './lasting-differences.js'

it('a stream that has no row in a later inventory either is reported', () => {
  const strays = new LastingDifferences()
  expect(strays.check('north', ['a', 'b'], 0)).toEqual([])
  expect(strays.check('north', ['a', 'c'], 10_000)).toEqual(['a'])
  expect(strays.check('north', ['a', 'b', 'c'], 20_000)).toEqual(['a', 'c'])
})

it('a stream is not reported in an inventory soon after the first one', () => {
  const strays = new LastingDifferences()
  expect(strays.check('north', ['a'], 0)).toEqual([])
  expect(strays.check('north', ['a'], 100)).toEqual([])
  expect(strays.check('north', ['a'], 10_000)).toEqual(['a'])
})

it('state is kept per node, and that of removed nodes is dropped', () => {
  const strays = new LastingDifferences()
  strays.check('north', ['a'], 0)
  expect(strays.check('south', ['a'], 10_000)).toEqual([])
  strays.keepOnly(['south'])
  expect(strays.check('north', ['a'], 20_000)).toEqual([])
  expect(strays.check('south', ['a'], 20_000)).toEqual(['a'])
})
