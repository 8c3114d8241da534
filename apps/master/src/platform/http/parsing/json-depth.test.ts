import { describe, expect, it } from '@jest/globals'
import { isDeeper } from './json-depth.js'

const nested = (depth: number): string => '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2)

describe('isDeeper', () => {
  it.each<[string, string, boolean]>([
    ['as deep as allowed', nested(6), false],
    ['deeper', nested(8), true],
    ['never closed', '['.repeat(7), true],
    ['many, but beside each other', `[${Array.from({ length: 50 }, () => '[]').join()}]`, false],
    ['brackets in a string', JSON.stringify({ a: '['.repeat(50) }), false],
    ['a quote in a string', String.raw`{"a":"\"[[[[[[[["}`, false],
    ['a backslash at the end of a string', String.raw`{"a":"\\","b":[[[[[[]]]]]]}`, true],
    ['nothing', '', false],
  ])('%s', (_, json, expected) => {
    expect(isDeeper(Buffer.from(json), 6)).toBe(expected)
  })
})
