import { describe, expect, it } from '@jest/globals'
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

describe('markOf', () => {
  it.each([0, 1, 128, 170, 249, 255])('reads the number %d', (mark) => {
    expect(markOf(marked(mark), SIZE)).toBe(mark)
    expect(markOf(marked(mark, { black: 40, white: 200 }), SIZE)).toBe(mark)
  })

  it('returns undefined for a blend of two pictures', () => {
    expect(markOf(marked(5, { black: 16, white: 120 }), SIZE)).toBeUndefined()
  })
})

describe('ssim', () => {
  const waves = grey((x, y) => 128 + 60 * Math.sin(x / 5) + 40 * Math.cos(y / 3))

  it('is 1 for identical pictures', () => {
    expect(ssim(waves, waves, SIZE)).toBeCloseTo(1, 9)
  })

  it('decreases with noise', () => {
    const noisy = (amplitude: number) => waves.map((value, at) => value + (((at * 7919) % 17) - 8) * amplitude)
    const [little, more] = [ssim(waves, noisy(0.5), SIZE), ssim(waves, noisy(2), SIZE)]
    expect(little).toBeLessThan(1)
    expect(little).toBeGreaterThan(0.9)
    expect(more).toBeLessThan(little - 0.05)
  })

  it('is low for unrelated pictures', () => {
    expect(
      ssim(
        waves,
        grey((x, y) => ((x * 31 + y * 17) * 7919) % 256),
        SIZE,
      ),
    ).toBeLessThan(0.2)
  })

  it('throws on a truncated picture', () => {
    expect(() => ssim(waves, waves.subarray(1), SIZE)).toThrow('smaller than its declared size')
  })
})

it('counts the pictures that differ from the one before', () => {
  expect(changes([1, 1, 2, 3, undefined, 3, 3, 4])).toBe(4)
  expect(changes([])).toBe(0)
})
