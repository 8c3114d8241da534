export interface Size {
  width: number
  height: number
}

/** Each picture shows its number as squares in its upper row: one per bit, white for 1, the lowest bit first. */
export const MARK_BITS = 8
/** Squares across a picture. */
export const MARK_COLUMNS = 16
const MAX_BLACK = 90
const MIN_WHITE = 150

/** Reads the number of a grey picture; undefined when it is unreadable, as in a blend of two pictures. */
export function markOf(grey: Uint8Array, { width }: Size): number | undefined {
  const square = width / MARK_COLUMNS
  let mark = 0
  for (let bit = 0; bit < MARK_BITS; bit++) {
    const brightness = meanOf(
      grey,
      width,
      { x: Math.round((bit + 0.3) * square), y: Math.round(square * 0.3) },
      square * 0.4,
    )
    if (brightness > MAX_BLACK && brightness < MIN_WHITE) return undefined
    if (brightness >= MIN_WHITE) mark |= 1 << bit
  }
  return mark
}

function meanOf(grey: Uint8Array, width: number, { x, y }: { x: number; y: number }, side: number): number {
  let sum = 0
  let count = 0
  for (let row = y; row < y + side; row++)
    for (let column = x; column < x + side; column++, count++) sum += grey[row * width + column] ?? 0
  return sum / count
}

const BLOCK = 8
const STABILISERS = [(0.01 * 255) ** 2, (0.03 * 255) ** 2] as const

/** Structural similarity of two grey pictures, 1 for identical ones: the mean over blocks of 8 × 8. */
export function ssim(one: Uint8Array, other: Uint8Array, { width, height }: Size): number {
  if (one.length < width * height || other.length < width * height)
    throw new Error('a picture is smaller than its declared size')
  let sum = 0
  let blocks = 0
  for (let y = 0; y + BLOCK <= height; y += BLOCK)
    for (let x = 0; x + BLOCK <= width; x += BLOCK, blocks++) sum += ssimOfBlock(one, other, y * width + x, width)
  return sum / blocks
}

function ssimOfBlock(one: Uint8Array, other: Uint8Array, from: number, width: number): number {
  let [a, b, aa, bb, ab] = [0, 0, 0, 0, 0]
  for (let y = 0; y < BLOCK; y++) {
    for (let at = from + y * width, end = at + BLOCK; at < end; at++) {
      const p = one[at] ?? 0
      const q = other[at] ?? 0
      a += p
      b += q
      aa += p * p
      bb += q * q
      ab += p * q
    }
  }
  const count = BLOCK * BLOCK
  const [meanA, meanB] = [a / count, b / count]
  const [varianceA, varianceB] = [aa / count - meanA ** 2, bb / count - meanB ** 2]
  const covariance = ab / count - meanA * meanB
  const [c1, c2] = STABILISERS
  return (
    ((2 * meanA * meanB + c1) * (2 * covariance + c2)) / ((meanA ** 2 + meanB ** 2 + c1) * (varianceA + varianceB + c2))
  )
}

/** Counts the pictures that differ from the one before. */
export const changes = (marks: readonly (number | undefined)[]): number =>
  marks.filter((mark, at) => at > 0 && mark !== undefined && mark !== marks[at - 1]).length
