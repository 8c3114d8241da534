import { describe, expect, it } from '@jest/globals'
import { rovingIndex, tabStop } from './toolbar.js'

describe('focus in a toolbar', () => {
  it.each<[string, number, number, number | undefined]>([
    ['ArrowRight', 0, 3, 1],
    ['ArrowRight', 2, 3, 0],
    ['ArrowLeft', 1, 3, 0],
    ['ArrowLeft', 0, 3, 2],
    ['ArrowDown', 1, 3, 2],
    ['ArrowUp', 1, 3, 0],
    ['Home', 2, 3, 0],
    ['End', 0, 3, 2],
    ['ArrowRight', 0, 1, 0],
    ['ArrowLeft', -1, 3, 2],
    ['Tab', 1, 3, undefined],
    ['Enter', 1, 3, undefined],
    ['toString', 1, 3, undefined],
    ['ArrowRight', -1, 0, undefined],
  ])('%s at %d of %d moves to %s', (key, index, count, expected) => {
    expect(rovingIndex(key, index, count)).toBe(expected)
  })

  it.each<[string, string[], string | undefined, string | undefined]>([
    ['the current item', ['a', 'b', 'c'], 'b', 'b'],
    ['the first item before any had focus', ['a', 'b', 'c'], undefined, 'a'],
    ['the first item when the current one is gone', ['a', 'c'], 'b', 'a'],
    ['nothing in an empty toolbar', [], 'b', undefined],
  ])('is reached with Tab at %s', (_, items, current, expected) => {
    expect(tabStop(items, current)).toBe(expected)
  })
})
