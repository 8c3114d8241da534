import { expect, it } from '@jest/globals'
import { symbolsProblem } from './symbols.js'

it.each([
  ['a whole table', '<eps> 0\na 1\nb 2\nc 3\n', undefined],
  ['without a line break at its end', '<eps> 0\na 1\nb 2\nc 3', undefined],
  ['a space as a symbol', '<eps> 0\n  1\nb 2\nc 3\n', undefined],
  ['two symbols with one id', '<eps> 0\na 1\nb 2\n<s> 2\n', undefined],
])('a table of symbols is accepted: %s', (_table, text, problem) => {
  expect(symbolsProblem(Buffer.from(text))).toBe(problem)
})

const table = (length: number): string => Array.from({ length }, (_, id) => `word${id} ${id}\n`).join('')

it.each([
  ['empty', '', 'it is empty'],
  ['cut within a symbol', '<eps> 0\na 1\nwo', 'its last line has no number'],
  ['cut within a number', table(2_000).slice(0, -3), 'its last line is cut off'],
])('a damaged table of symbols is reported: %s', (_table, text, problem) => {
  expect(symbolsProblem(Buffer.from(text))).toBe(problem)
})
