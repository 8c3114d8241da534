import { expect, it } from '@jest/globals'
import { BENCHMARKS, HELP, OptionError, parseOptions } from '../options.mjs'

it('runs all benchmarks without a name, except those that must be named', () => {
  const all = Object.keys(BENCHMARKS).filter(
    (name) => !['recorded-session', 'watched-cameras', 'false-losses'].includes(name),
  )
  expect(parseOptions([])).toMatchObject({ benchmarks: all, quick: false, help: false })
  expect(parseOptions(['recorded-session']).benchmarks).toEqual(['recorded-session'])
  expect(parseOptions(['watched-cameras']).benchmarks).toEqual(['watched-cameras'])
  expect(parseOptions(['false-losses']).benchmarks).toEqual(['false-losses'])
})

it('accepts names and flags in any order', () => {
  expect(parseOptions(['--quick', 'rest', '-h'])).toMatchObject({ benchmarks: ['rest'], quick: true, help: true })
})

it('rejects an unknown argument and lists the known ones', () => {
  const attempt = (): unknown => parseOptions(['--fast'])
  expect(attempt).toThrow(OptionError)
  expect(attempt).toThrow(/--fast: there are forwarding, join, .*--quick, --help/)
})

it.each([
  [['placement'], []],
  [['autoscaling', 'placement'], []],
  [['rest'], ['nats', 'postgres']],
  [
    ['rest', 'join'],
    ['nats', 'postgres', 'worker', 'chromium'],
  ],
])('derives from %j that it needs %j', (names, needs) => {
  expect(parseOptions(names).needs).toEqual(needs)
})

it('names every benchmark and flag in the help', () => {
  for (const word of [...Object.keys(BENCHMARKS), '--quick', '--help']) expect(HELP).toContain(word)
})
