import { expect, it } from '@jest/globals'
import { prettyLine } from './pretty.js'

it.each([['not json\n'], ['"text"\n'], ['null\n']])('leaves %j as it is', (line) => expect(prettyLine(line)).toBe(line))

it('shows an error without a stack', () => {
  const line = JSON.stringify({ time: '2026-01-02T03:04:05.678Z', level: 'warn', name: 'n', msg: 'm', err: 'gone' })
  expect(prettyLine(line)).toBe('03:04:05.678 WARN  n m\n    gone\n')
})
