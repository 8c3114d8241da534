import { describe, expect, test } from '@jest/globals'
import { changes, markOf, ssim } from './pictures.js'

const SIZE = { width: 160, height: 90 }
const SQUARE = 10

function grey(of: (x: number, y: number) => number): Uint8Array {
  return Uint8Array.from({ length: SIZE.width * SIZE.height }, (_, at) =>
    of(at % SIZE.width, Math.floor(at / SIZE.width)),
  )
}

const marked = (mark: number, { black, white } = { black: 16, white: 235 }) =>
  grey((x, y) => (y < SQUARE && (mark >> Math.floor(x / SQUARE)) & 1 ? white : black))

describe('which picture it is', () => {
  test.each([0, 1, 128, 170, 249, 255])('%d', (mark) => {
    expect(markOf(marked(mark), SIZE)).toBe(mark)
    expect(markOf(marked(mark, { black: 40, white: 200 }), SIZE)).toBe(mark)
  })

  test('a picture in between is none', () => {
    expect(markOf(marked(5, { black: 16, white: 120 }), SIZE)).toBeUndefined()
  })
})

describe('similarity', () => {
  const waves = grey((x, y) => 128 + 60 * Math.sin(x / 5) + 40 * Math.cos(y / 3))

  test('a picture is the same as itself', () => {
    expect(ssim(waves, waves, SIZE)).toBeCloseTo(1, 9)
  })

  test('the more noise the less similar', () => {
    const noisy = (much: number) => waves.map((value, at) => value + (((at * 7919) % 17) - 8) * much)
    const [little, more] = [ssim(waves, noisy(0.5), SIZE), ssim(waves, noisy(2), SIZE)]
    expect(little).toBeLessThan(1)
    expect(little).toBeGreaterThan(0.9)
    expect(more).toBeLessThan(little - 0.05)
  })

  test('a picture that has nothing of the other', () => {
    expect(
      ssim(
        waves,
        grey((x, y) => ((x * 31 + y * 17) * 7919) % 256),
        SIZE,
      ),
    ).toBeLessThan(0.2)
  })

  test('a picture that was cut off is an error', () => {
    expect(() => ssim(waves, waves.subarray(1), SIZE)).toThrow('smaller than said')
  })
})

test('pictures that show something new', () => {
  expect(changes([1, 1, 2, 3, undefined, 3, 3, 4])).toBe(4)
  expect(changes([])).toBe(0)
})
