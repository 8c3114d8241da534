import { describe, expect, it } from '@jest/globals'
import { prefixedType, typeInEvent } from './signal-type.js'

describe('prefixedType', () => {
  it.each([
    [undefined, 'signal'],
    ['', 'signal'],
    ['signal', 'signal'],
    ['chat', 'signal:chat'],
    ['signal:chat', 'signal:chat'],
    ['signals', 'signal:signals'],
  ])('of %s is %s', (type, expected) => {
    expect(prefixedType(type)).toBe(expected)
  })
})

describe('typeInEvent', () => {
  it.each([
    ['signal', 'signal'],
    ['signal:chat', 'chat'],
    ['signal:signal:chat', 'signal:chat'],
  ])('of %s is %s', (type, expected) => {
    expect(typeInEvent(type)).toBe(expected)
  })
})
