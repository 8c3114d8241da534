/** Pixels. */
export interface Size {
  readonly width: number
  readonly height: number
}
export interface Rect extends Size {
  readonly x: number
  readonly y: number
}

/** Pictures are cropped to fill their tile, but never to a slit: width by height of the widest and of the slimmest. */
const WIDEST = 16 / 9
/** …in a space that is wider than high, and in one that is higher, as telephones are held. */
const SLIMMEST = { wide: 1.15, high: 3 / 4 }
/** …and beside a shared screen. */
const SLIMMEST_OF_STRIP = 1.3
/** Between the shapes that cameras have. */
const USUAL = 3 / 2
const STRIP_SHARE = 0.22

interface Grid extends Size {
  readonly columns: number
}

function fit(cellWidth: number, cellHeight: number, slimmest: number): Size {
  const aspect = cellWidth / cellHeight
  if (aspect > WIDEST) return { width: cellHeight * WIDEST, height: cellHeight }
  if (aspect < slimmest) return { width: cellWidth, height: cellWidth / slimmest }
  return { width: cellWidth, height: cellHeight }
}

/** What is seen of cameras: the area, less what cropping to this shape takes of a usual picture. */
function worth({ width, height }: Size): number {
  if (width === 0 || height === 0) return 0
  const shape = width / height / USUAL
  return width * height * Math.sqrt(Math.min(shape, 1 / shape))
}

const slimmestIn = ({ width, height }: Size): number => (width > height ? SLIMMEST.wide : SLIMMEST.high)

/** The number of columns that lets most be seen on `count` equal tiles in the space, and the size of a tile. */
export function bestGrid(count: number, space: Size, gap: number, slimmest = slimmestIn(space)): Grid {
  let best: Grid = { columns: 1, width: 0, height: 0 }
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns)
    const width = (space.width - gap * (columns - 1)) / columns
    const height = (space.height - gap * (rows - 1)) / rows
    if (width <= 0 || height <= 0) continue
    const tile = fit(width, height, slimmest)
    if (worth(tile) > worth(best)) best = { columns, ...tile }
  }
  return best
}

const whole = ({ x, y, width, height }: Rect): Rect => ({
  x: Math.round(x),
  y: Math.round(y),
  width: Math.floor(width),
  height: Math.floor(height),
})

/** Where `count` equal tiles stand: rows in the middle of the space, an incomplete last row in the middle of its width. */
export function gridTiles(count: number, space: Size, gap: number, slimmest = slimmestIn(space)): Rect[] {
  const { columns, width, height } = bestGrid(count, space, gap, slimmest)
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
 * Where tiles stand when the first is a shared screen: it takes what it can, the others stand in a strip beside it,
 * or below it where the space is higher than wide.
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
  const others = gridTiles(count - 1, rest, gap, SLIMMEST_OF_STRIP).map((rect) => ({
    ...rect,
    x: Math.round(rect.x + x),
    y: Math.round(rect.y + y),
  }))
  return [whole({ x: 0, y: 0, ...main }), ...others]
}
