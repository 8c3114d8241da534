/** Pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}
export interface Rect extends Size {
  readonly x: number
  readonly y: number
}

/** The aspect ratio of all tiles, which equals that of cameras, so that a tile shows the whole video. */
export const TILE_ASPECT = 16 / 9
const STRIP_SHARE = 0.22

interface Grid extends Size {
  readonly columns: number
}

/** The largest tile with the fixed aspect ratio in a cell. */
const fit = ({ width, height }: Size): Size =>
  width / height > TILE_ASPECT ? { width: height * TILE_ASPECT, height } : { width, height: width / TILE_ASPECT }

/** Finds the number of columns with the largest tiles for `count` equal tiles, and their size. */
export function bestGrid(count: number, space: Size, gap: number): Grid {
  let best: Grid = { columns: 1, width: 0, height: 0 }
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns)
    const width = (space.width - gap * (columns - 1)) / columns
    const height = (space.height - gap * (rows - 1)) / rows
    if (width <= 0 || height <= 0) continue
    const tile = fit({ width, height })
    if (tile.width > best.width) best = { columns, ...tile }
  }
  return best
}

const whole = ({ x, y, width, height }: Rect): Rect => ({
  x: Math.round(x),
  y: Math.round(y),
  width: Math.floor(width),
  height: Math.floor(height),
})

/** The positions of `count` equal tiles in centred rows. */
export function gridTiles(count: number, space: Size, gap: number): Rect[] {
  const { columns, width, height } = bestGrid(count, space, gap)
  const rows = Math.ceil(count / columns)
  const top = (space.height - rows * height - (rows - 1) * gap) / 2
  return Array.from({ length: count }, (_, index) => {
    const row = Math.floor(index / columns)
    const inRow = row === rows - 1 ? count - row * columns : columns
    const left = (space.width - inRow * width - (inRow - 1) * gap) / 2
    return whole({ x: left + (index % columns) * (width + gap), y: top + row * (height + gap), width, height })
  })
}

/**
 * The positions of tiles when the first is a shared screen: it takes most of the space. The others form a strip beside it,
 * or below it if the space is higher than wide.
 */
export function focusTiles(count: number, space: Size, gap: number): Rect[] {
  if (count <= 1) return count === 1 ? [whole({ x: 0, y: 0, ...space })] : []
  const beside = space.width >= space.height
  const length = beside ? space.width : space.height
  const strip = Math.min(Math.max(length * STRIP_SHARE, 120), 300)
  const main = beside
    ? { width: space.width - strip - gap, height: space.height }
    : { width: space.width, height: space.height - strip - gap }
  const rest = beside ? { width: strip, height: space.height } : { width: space.width, height: strip }
  const [x, y] = beside ? [main.width + gap, 0] : [0, main.height + gap]
  const others = gridTiles(count - 1, rest, gap).map((rect) => ({
    ...rect,
    x: Math.round(rect.x + x),
    y: Math.round(rect.y + y),
  }))
  return [whole({ x: 0, y: 0, ...main }), ...others]
}
