import { describe, expect, it } from '@jest/globals'
import { dimensionsReason } from './dimensions.js'

describe('dimensionsReason', () => {
  const size = (width: number, height: number): string => JSON.stringify({ width, height })
  it.each([
    [size(640, 480), size(480, 640), false, 'deviceRotated'],
    [size(640, 480), size(1280, 720), false, 'trackReplaced'],
    [size(500, 500), size(500, 500), false, 'trackReplaced'],
    [null, size(640, 480), false, 'trackReplaced'],
    [size(640, 480), size(480, 640), true, 'screenResized'],
    ['no size', size(480, 640), false, 'trackReplaced'],
  ])('%s to %s, screen %s: %s', (before, after, screen, expected) => {
    expect(dimensionsReason(before, after, screen)).toBe(expected)
  })
})
