import { describe, expect, it } from '@jest/globals'
import { prefixedType } from './signal-type.js'

describe('prefixedType', () => {
  it.each([
    [undefined, 'signal'],
    ['', 'signal'],
    ['signal', 'signal'],
    ['chat', 'signal:chat'],
    ['signal:chat', 'signal:chat'],
    ['signals', 'signal:signals'],
  ])('%s', (type, expected) => {
    expect(prefixedType(type)).toBe(expected)
  })
})
