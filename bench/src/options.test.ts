import { expect, test } from '@jest/globals'
import { BENCHMARKS, HELP, OptionError, parseOptions } from '../options.mjs'

test('without a name all benchmarks run, except the one that runs only by name', () => {
  const all = Object.keys(BENCHMARKS).filter((name) => name !== 'recorded-session')
  expect(parseOptions([])).toMatchObject({ benchmarks: all, quick: false, help: false })
  expect(parseOptions(['recorded-session']).benchmarks).toEqual(['recorded-session'])
})

test('names and flags are accepted in any order', () => {
  expect(parseOptions(['--quick', 'rest', '-h'])).toMatchObject({ benchmarks: ['rest'], quick: true, help: true })
})

test('an unknown argument is refused with the known ones', () => {
  const attempt = (): unknown => parseOptions(['--fast'])
  expect(attempt).toThrow(OptionError)
  expect(attempt).toThrow(/--fast: there are forwarding, join, .*--quick, --help/)
})

test.each([
  [['placement'], []],
  [['autoscaling', 'placement'], []],
  [['rest'], ['nats', 'postgres']],
  [
    ['rest', 'join'],
    ['nats', 'postgres', 'worker', 'chromium'],
  ],
])('%j needs %j', (names, needs) => {
  expect(parseOptions(names).needs).toEqual(needs)
})

test('the help names every benchmark and flag', () => {
  for (const word of [...Object.keys(BENCHMARKS), '--quick', '--help']) expect(HELP).toContain(word)
})
