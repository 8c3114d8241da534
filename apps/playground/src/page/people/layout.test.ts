import { describe, expect, it } from '@jest/globals'
import { type Rect, type Size, TILE_ASPECT, bestGrid, focusTiles, gridTiles } from './layout.js'

const GAP = 12
const wide: Size = { width: 1280, height: 640 }
const phone: Size = { width: 366, height: 640 }
const square: Size = { width: 800, height: 800 }
const counts = [1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 25, 49]
const spaces: [string, Size][] = [
  ['wide', wide],
  ['phone', phone],
  ['square', square],
  ['slit', { width: 1600, height: 180 }],
]

const overlaps = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
const isInside = ({ x, y, width, height }: Rect, space: Size): boolean =>
  x >= 0 && y >= 0 && x + width <= space.width + 1 && y + height <= space.height + 1

describe('bestGrid', () => {
  it.each<[number, Size, number]>([
    [1, wide, 1],
    [2, wide, 2],
    [3, wide, 2],
    [4, wide, 2],
    [5, wide, 3],
    [9, wide, 3],
    [12, wide, 4],
    [16, wide, 4],
    [1, phone, 1],
    [2, phone, 1],
    [3, phone, 1],
    [4, phone, 1],
    [6, phone, 2],
    [9, phone, 2],
    [4, square, 2],
  ])('%d tiles in %j: %d columns', (count, space, columns) => {
    expect(bestGrid(count, space, GAP).columns).toBe(columns)
  })

  it.each(counts)('makes %d tiles as large as any number of columns allows', (count) => {
    for (const [, space] of spaces) {
      const { width, height } = bestGrid(count, space, GAP)
      expect(width / height).toBeCloseTo(TILE_ASPECT, 6)
      for (let columns = 1; columns <= count; columns++) {
        const rows = Math.ceil(count / columns)
        const [cellWidth, cellHeight] = [space.width - GAP * (columns - 1), space.height - GAP * (rows - 1)]
        const possible = Math.min(cellWidth / columns, (cellHeight / rows) * TILE_ASPECT)
        expect(width).toBeGreaterThanOrEqual(possible - 1e-9)
      }
    }
  })
})

describe.each(spaces)('tiles in a %s space', (_, space) => {
  it.each(counts)('%d equal tiles do not overlap, fit into the space and are centred', (count) => {
    const tiles = gridTiles(count, space, GAP)
    expect(tiles).toHaveLength(count)
    expect(tiles.every((tile) => isInside(tile, space))).toBe(true)
    expect(tiles.some((a, i) => tiles.slice(i + 1).some((b) => overlaps(a, b)))).toBe(false)
    const [left, right] = [Math.min(...tiles.map(({ x }) => x)), Math.max(...tiles.map(({ x, width }) => x + width))]
    expect(Math.abs(left - (space.width - right))).toBeLessThanOrEqual(count + 1)
    // Rounding to whole pixels changes width or height by less than one pixel.
    for (const { width, height } of tiles) expect(Math.abs(width - height * TILE_ASPECT)).toBeLessThan(TILE_ASPECT)
  })

  it.each(counts)('a screen among %d tiles is the largest one, and no tiles overlap', (count) => {
    const tiles = focusTiles(count, space, GAP)
    expect(tiles).toHaveLength(count)
    expect(tiles.every((tile) => isInside(tile, space))).toBe(true)
    expect(tiles.some((a, i) => tiles.slice(i + 1).some((b) => overlaps(a, b)))).toBe(false)
    for (const { width, height } of tiles.slice(1))
      expect(Math.abs(width - height * TILE_ASPECT)).toBeLessThan(TILE_ASPECT)
    const areas = tiles.map(({ width, height }) => width * height)
    expect(Math.max(...areas)).toBe(areas[0])
  })
})

describe('without tiles or space', () => {
  it('returns no positions', () => {
    expect(gridTiles(0, wide, GAP)).toEqual([])
    expect(focusTiles(0, wide, GAP)).toEqual([])
    expect(gridTiles(2, { width: 0, height: 0 }, GAP).every(({ width, height }) => width === 0 && height === 0)).toBe(
      true,
    )
  })
})
