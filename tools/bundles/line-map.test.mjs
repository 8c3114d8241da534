import assert from 'node:assert/strict'
import { SourceMap } from 'node:module'
import { test } from 'node:test'
import { encode } from '@jridgewell/sourcemap-codec'
import { lineMap } from './line-map.mjs'

const map = (...lines) => ({ version: 3, sources: ['one.ts', 'two.ts'], names: ['first'], mappings: encode(lines) })

test('a line map finds the line of each position with the first position of each part of a line', () => {
  const line = [[0, 0, 4, 2], [8, 0, 4, 10], [20, 0, 5, 0], [30, 1, 5, 3], [34, 1, 5, 7], [40], [50, 1, 5, 9]]
  const made = new SourceMap(lineMap(map(line, [[0, 1, 5, 12]])))
  const at = (lineNumber, column) => {
    const { originalSource, originalLine, originalColumn } = made.findEntry(lineNumber, column)
    return [originalSource, originalLine, originalColumn]
  }
  assert.deepEqual(at(0, 9), ['one.ts', 4, 2])
  assert.deepEqual(at(0, 25), ['one.ts', 5, 0])
  assert.deepEqual(at(0, 36), ['two.ts', 5, 3])
  assert.deepEqual(at(0, 45)[0], undefined)
  assert.deepEqual(at(0, 51), ['two.ts', 5, 9])
  assert.deepEqual(at(1, 0), ['two.ts', 5, 12])
})

test('a line map has no names, which would be those of other functions of the line', () => {
  const { names, mappings, version, sources } = lineMap(
    map([
      [0, 0, 4, 2, 0],
      [8, 0, 4, 10, 0],
      [20, 0, 5, 0],
    ]),
  )
  assert.deepEqual([version, sources, names], [3, ['one.ts', 'two.ts'], []])
  assert.equal(
    mappings,
    encode([
      [
        [0, 0, 4, 2],
        [20, 0, 5, 0],
      ],
    ]),
  )
})
