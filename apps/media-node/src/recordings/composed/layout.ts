import type { NativeLayout } from '@session-service/contract'

export interface Size {
  width: number
  height: number
}

export interface Box extends Size {
  x: number
  y: number
}

/** A visible stream; streams are in the order of their publication. */
export interface Shown {
  id: string
  isScreen: boolean
}

/** The aspect ratio of nearly every camera. */
const ASPECT = 16 / 9
/** The gap beside a large box, as a share of the smaller side of the picture. */
const GAP_SHARE = 1 / 180
/** The margin of a tile without picture, so that adjacent tiles are distinguishable. */
const EDGE = 2
/** Shares of the picture: for the others beside the large box, and for an inset. */
const ASIDE_SHARE = 1 / 4
const ASIDE_COUNT = 4
const INSET_SHARE = 1 / 4
const INSET_MARGIN_SHARE = 1 / 40

const even = (value: number): number => Math.floor(value / 2) * 2

/**
 * The box of each stream. Boxes are whole cells; a picture keeps its aspect ratio within its cell, so a portrait picture
 * uses the full height. Sizes and positions are even because of chroma subsampling.
 */
export function arrange(layout: NativeLayout, shown: readonly Shown[], size: Size): Map<string, Box> {
  const canvas = { x: 0, y: 0, width: even(size.width), height: even(size.height) }
  const big = shown.find(({ isScreen }) => isScreen) ?? shown[0]
  if (!big || shown.length < 2 || layout === 'BEST_FIT') return grid(shown, canvas)
  const others = shown.filter((one) => one !== big)
  if (layout === 'PICTURE_IN_PICTURE') return pictureInPicture(big, others, canvas)
  return presentation(big, others, canvas, layout === 'VERTICAL_PRESENTATION')
}

/** The largest box with a camera's aspect ratio inside a cell, for a tile without picture. */
export function cameraBox({ x, y, width, height }: Box): Box {
  const fitting = fit({ width: width - 2 * EDGE, height: height - 2 * EDGE })
  return { x: x + even((width - fitting.width) / 2), y: y + even((height - fitting.height) / 2), ...fitting }
}

function fit({ width, height }: Size): Size {
  return {
    width: Math.max(2, even(Math.min(width, height * ASPECT))),
    height: Math.max(2, even(Math.min(height, width / ASPECT))),
  }
}

/**
 * The number of columns that makes cameras largest; an incomplete last row is centred. There are no gaps: pictures then
 * often fit a cell without scaling, which would cost a fifth of the CPU time.
 */
function grid(shown: readonly Shown[], area: Box): Map<string, Box> {
  const count = shown.length
  if (count === 0) return new Map()
  const columns = columnsFor(count, area)
  const rows = Math.ceil(count / columns)
  const cell = cellOf(area, columns, rows)
  return new Map(
    shown.map(({ id }, index) => {
      const row = Math.floor(index / columns)
      const inRow = Math.min(columns, count - row * columns)
      const left = even((area.width - inRow * cell.width) / 2)
      const top = even((area.height - rows * cell.height) / 2)
      const x = area.x + left + (index % columns) * cell.width
      const y = area.y + top + row * cell.height
      return [id, { x, y, ...cell }]
    }),
  )
}

/** Prefers fewer rows of two equally good grids, so that two streams are side by side. */
function columnsFor(count: number, area: Size): number {
  let best = { columns: 1, rows: Infinity, width: 0 }
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns)
    const { width } = fit(cellOf(area, columns, rows))
    if (width > best.width || (width === best.width && rows < best.rows)) best = { columns, rows, width }
  }
  return best.columns
}

const cellOf = ({ width, height }: Size, columns: number, rows: number): Size => ({
  width: Math.max(2, even(width / columns)),
  height: Math.max(2, even(height / rows)),
})

/** The large box fills the picture; insets cover its lower edge from the right. */
function pictureInPicture(big: Shown, others: readonly Shown[], canvas: Box): Map<string, Box> {
  const margin = even(Math.min(canvas.width, canvas.height) * INSET_MARGIN_SHARE)
  const share = Math.min(INSET_SHARE, 1 / (others.length + 1))
  const inset = fit({ width: canvas.width * share, height: canvas.height * share })
  const boxes = others.map(({ id }, index): [string, Box] => [
    id,
    {
      x: canvas.width - (index + 1) * (inset.width + margin),
      y: canvas.height - inset.height - margin,
      ...inset,
    },
  ])
  return new Map([
    [big.id, canvas],
    ...boxes.map(([id, box]): [string, Box] => [id, { ...box, x: Math.max(0, box.x) }]),
  ])
}

/** A large box with the others in a column at its right (vertical) or in a row below. */
function presentation(big: Shown, others: readonly Shown[], canvas: Box, isVertical: boolean): Map<string, Box> {
  const gap = even(Math.min(canvas.width, canvas.height) * GAP_SHARE)
  const aside = even((isVertical ? canvas.width : canvas.height) * ASIDE_SHARE)
  const main: Box = isVertical
    ? { ...canvas, width: canvas.width - aside - gap }
    : { ...canvas, height: canvas.height - aside - gap }
  const strip: Box = isVertical
    ? { ...canvas, x: main.width + gap, width: aside }
    : { ...canvas, y: main.height + gap, height: aside }
  return new Map([[big.id, main], ...along(others, strip, gap, isVertical)])
}

/** One line for few streams, otherwise a grid. */
function along(shown: readonly Shown[], strip: Box, gap: number, isVertical: boolean): Map<string, Box> {
  if (shown.length > ASIDE_COUNT) return grid(shown, strip)
  const length = isVertical ? strip.height : strip.width
  const each = even((length - (ASIDE_COUNT - 1) * gap) / ASIDE_COUNT)
  const before = even((length - shown.length * each - (shown.length - 1) * gap) / 2)
  return new Map(
    shown.map(({ id }, index) => {
      const at = before + index * (each + gap)
      const box = isVertical ? { ...strip, y: strip.y + at, height: each } : { ...strip, x: strip.x + at, width: each }
      return [id, box]
    }),
  )
}
