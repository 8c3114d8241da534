import { describe, expect, it } from '@jest/globals'
import type { NativeLayout } from '@session-service/contract'
import { arrange, cameraBox, type Box, type Shown, type Size } from './layout.js'

const people = (count: number, screenAt = -1): Shown[] =>
  Array.from({ length: count }, (_, nth) => ({ id: `${nth}`, isScreen: nth === screenAt }))
const places = (layout: NativeLayout, shown: Shown[], size: Size): string[] =>
  [...arrange(layout, shown, size).values()].map(({ x, y, width, height }) => `${width}x${height}+${x}+${y}`)
const HD = { width: 1280, height: 720 }

describe('best fit', () => {
  it.each([
    [0, HD, []],
    [1, HD, ['1280x720+0+0']],
    [2, HD, ['640x720+0+0', '640x720+640+0']],
    [3, HD, ['640x360+0+0', '640x360+640+0', '640x360+320+360']],
    [4, HD, ['640x360+0+0', '640x360+640+0', '640x360+0+360', '640x360+640+360']],
    [5, HD, ['426x360+0+0', '426x360+426+0', '426x360+852+0', '426x360+214+360', '426x360+640+360']],
    [2, { width: 360, height: 640 }, ['360x320+0+0', '360x320+0+320']],
    [3, { width: 1000, height: 100 }, ['332x100+2+0', '332x100+334+0', '332x100+666+0']],
  ] as [number, Size, string[]][])('%d in %j', (count, size, expected) => {
    expect(places('BEST_FIT', people(count), size)).toEqual(expected)
  })

  it('prefers the fuller of two equally good grids', () => {
    const lines = new Set([...arrange('BEST_FIT', people(8), { width: 1600, height: 400 }).values()].map(({ y }) => y))
    expect(lines.size).toBe(2)
    expect(places('BEST_FIT', people(8), { width: 1600, height: 400 })[3]).toBe('400x200+1200+0')
  })

  it('makes cameras as large as possible in an even grid', () => {
    const widths = [1, 2, 3, 4, 6, 9, 12, 16, 25].map((count) => {
      const [first] = arrange('BEST_FIT', people(count), HD).values()
      return cameraBox(first!).width
    })
    expect(widths).toEqual([1272, 636, 632, 632, 422, 418, 316, 312, 248])
  })
})

describe('others', () => {
  it.each([
    ['PICTURE_IN_PICTURE', people(2), ['1280x720+0+0', '320x180+942+522']],
    ['PICTURE_IN_PICTURE', people(3, 2), ['1280x720+0+0', '320x180+942+522', '320x180+604+522']],
    ['VERTICAL_PRESENTATION', people(2), ['956x720+0+0', '320x176+960+272']],
    ['HORIZONTAL_PRESENTATION', people(3, 1), ['1280x536+0+0', '316x180+322+540', '316x180+642+540']],
    ['VERTICAL_PRESENTATION', people(1), ['1280x720+0+0']],
  ] as [NativeLayout, Shown[], string[]][])('%s of %j', (layout, shown, expected) => {
    expect(places(layout, shown, HD)).toEqual(expected)
  })

  it.each(['PICTURE_IN_PICTURE', 'VERTICAL_PRESENTATION', 'HORIZONTAL_PRESENTATION'] as const)(
    '%s: a shared screen has the large box, also when it is not the first stream',
    (layout) => {
      const boxes = arrange(layout, people(4, 2), HD)
      const area = ({ width, height }: Box): number => width * height
      expect([...boxes].sort(([, one], [, other]) => area(other) - area(one))[0]![0]).toBe('2')
    },
  )
})

it.each(['BEST_FIT', 'PICTURE_IN_PICTURE', 'VERTICAL_PRESENTATION', 'HORIZONTAL_PRESENTATION'] as const)(
  '%s: whatever the size and the number, all have an even place inside, and none covers another by chance',
  (layout) => {
    for (const [width, height] of [
      [1280, 720],
      [101, 1999],
      [1999, 101],
      [100, 100],
      [640, 480],
      [720, 1280],
    ] as const) {
      for (const count of [1, 2, 3, 5, 8, 13, 40]) {
        const boxes = [...arrange(layout, people(count, 1), { width, height }).values()]
        expect(boxes).toHaveLength(count)
        for (const box of boxes) {
          const { x, y } = box
          expect([x, y, box.width, box.height].map((value) => value % 2)).toEqual([0, 0, 0, 0])
          expect(Math.min(x, y, box.width - 2, box.height - 2)).toBeGreaterThanOrEqual(0)
          expect(x + box.width).toBeLessThanOrEqual(width)
          expect(y + box.height).toBeLessThanOrEqual(height)
        }
        if (layout !== 'PICTURE_IN_PICTURE')
          expect(boxes.filter((box, nth) => boxes.slice(0, nth).some((other) => overlap(box, other)))).toEqual([])
      }
    }
  },
)

const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height

it.each([
  [
    { x: 0, y: 0, width: 640, height: 720 },
    { x: 2, y: 182, width: 636, height: 356 },
  ],
  [
    { x: 10, y: 20, width: 1000, height: 100 },
    { x: 424, y: 22, width: 170, height: 96 },
  ],
  [
    { x: 4, y: 4, width: 2, height: 2 },
    { x: 4, y: 4, width: 2, height: 2 },
  ],
])('a camera in %j', (box, expected) => {
  expect(cameraBox(box)).toEqual(expected)
})
