import { expect, test } from '@jest/globals'
import { readArguments } from './cli.js'

const known = ['forwarding', 'rest']

test('without a name all benchmarks run', () => {
  expect(readArguments([], known)).toEqual({ benchmarks: known, quick: false, help: false })
  expect(readArguments(['--quick'], known)).toEqual({ benchmarks: known, quick: true, help: false })
})

test('names and flags in any order', () => {
  expect(readArguments(['--quick', 'rest', '-h'], known)).toEqual({ benchmarks: ['rest'], quick: true, help: true })
})

test('what is not known is named, with what there is', () => {
  expect(() => readArguments(['--fast'], known)).toThrow('--fast: there are forwarding, rest, --quick')
})

test('what is wanted only by name is not among all', () => {
  const onlyByName = new Set(['rest'])
  expect(readArguments([], known, onlyByName).benchmarks).toEqual(['forwarding'])
  expect(readArguments(['rest'], known, onlyByName).benchmarks).toEqual(['rest'])
})
