import { expect, it } from '@jest/globals'
import { StrayStreams } from './stray-streams.js'

it('a stream without a row is a stray one when it still has none in a later look', () => {
  const strays = new StrayStreams()
  expect(strays.look('north', ['a', 'b'], 0)).toEqual([])
  expect(strays.look('north', ['a', 'c'], 10_000)).toEqual(['a'])
  expect(strays.look('north', ['a', 'b', 'c'], 20_000)).toEqual(['a', 'c'])
})

it('is none in a look that comes soon after the first', () => {
  const strays = new StrayStreams()
  expect(strays.look('north', ['a'], 0)).toEqual([])
  expect(strays.look('north', ['a'], 100)).toEqual([])
  expect(strays.look('north', ['a'], 10_000)).toEqual(['a'])
})

it('is told apart by node, and nodes that have gone are forgotten', () => {
  const strays = new StrayStreams()
  strays.look('north', ['a'], 0)
  expect(strays.look('south', ['a'], 10_000)).toEqual([])
  strays.keepOnly(['south'])
  expect(strays.look('north', ['a'], 20_000)).toEqual([])
  expect(strays.look('south', ['a'], 20_000)).toEqual(['a'])
})
