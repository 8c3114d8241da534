import { expect, it } from '@jest/globals'
import { HELP, OptionError, parseOptions } from './options.js'

const DEFAULTS = {
  nodes: 1,
  port: undefined,
  playground: true,
  speech: undefined,
  reset: false,
  help: false,
  data: undefined,
}

it('without options there is one media node and the playground', () => {
  expect(parseOptions([])).toEqual(DEFAULTS)
})

it('parseOptions accepts every option, with and without =', () => {
  const args = ['--nodes', '2', '--port=5000', '--no-playground', '--speech', 'en-US', '--reset', '--data', '/srv/data']
  expect(parseOptions(args)).toEqual({
    ...DEFAULTS,
    nodes: 2,
    port: 5000,
    playground: false,
    speech: 'en-US',
    reset: true,
    data: '/srv/data',
  })
  expect(parseOptions(['-h']).help).toBe(true)
})

it.each([
  [['--nodes', '0'], '--nodes must be a whole number from 1 to 64, not "0"'],
  [['--nodes', 'two'], '--nodes must be a whole number from 1 to 64, not "two"'],
  [['--nodes=1e1'], '--nodes must be a whole number from 1 to 64, not "1e1"'],
  [['--port', '70000'], '--port must be a whole number from 1 to 65535, not "70000"'],
  [['--port'], "Option '--port <value>' argument missing"],
  [['--speech'], "Option '--speech <value>' argument missing"],
  [
    ['--speech', 'de-DE'],
    '--speech fetches a language model for en-US only, not for "de-DE": docs/speech-to-text.md describes how',
  ],
  [['--data', ''], '--data must not be empty'],
  [['--data= '], '--data must not be empty'],
  [['--node', '2'], "Unknown option '--node'"],
  [['start'], "Unexpected argument 'start'"],
])('%j is refused in words', (args, words) => {
  const attempt = () => parseOptions(args)
  expect(attempt).toThrow(OptionError)
  expect(attempt).toThrow(words)
})

it('the help names every option', () => {
  for (const option of ['--nodes', '--port', '--no-playground', '--speech', '--reset', '--data', '--help'])
    expect(HELP).toContain(option)
})
