import { BoolEncoder } from './bool-encoder.js'

/**
 * Minimal valid VP8 (RFC 6386): a key frame of a single grey, and inter frames that repeat the previous picture. The grey
 * identifies the publisher.
 */

/**
 * The probabilities that a coefficient probability is unchanged (RFC 6386 §13.4), by block type, band and context. Omitted
 * values at the end of a context are 255. Constants of the format.
 */
const COEFFICIENT_UPDATE = [
  ',,/176 246,223 241 252,249 253 253/255 244 252,234 254 254,253/255 246 254,239 253 254,254 255 254/255 248 254,251 255 254,/255 253 254,251 254 254,254 255 254/255 254 253 255 254,250 255 254 255 254,254/,,',
  '217,225 252 241 253 255 255 254,234 250 241 250 253 255 253 254/255 254,223 254 254,238 253 254 254/255 248 254,249 254,/255 253,247 254,/255 253 254,252,/255 254 254,253,/255 254 253,250,254/,,',
  '186 251 250,234 251 244 254,251 251 243 253 254 255 254/255 253 254,236 253 254,251 253 253 254 254/255 254 254,254 254 254,/255 254,254 254,254/,254,/,,/,,/,,',
  '248,250 254 252 254,248 254 249 253/255 253 253,246 253 253,252 254 251 254 254/255 254 252,248 254 253,253 255 254 254/255 251 254,245 251 254,253 253 254/255 251 253,252 253 254,255 254/255 252,249 255 254,255 255 254/255 255 253,250,/,254,',
].flatMap((blockType) =>
  blockType
    .split(/[/,]/)
    .flatMap((context) => Object.assign(Array<number>(11).fill(255), context.split(' ').filter(Boolean).map(Number))),
)
/** The same probabilities for the components of motion vectors (§17.2): rows, then columns. */
const MOTION_UPDATE = [
  [237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254],
  [231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254],
].flat()

/** The probability of "no motion" by the neighbours' weight of no motion: 0, 2 or 5 (§16.3). */
const STILL_PROBABILITY: Readonly<Record<number, number>> = { 0: 7, 2: 135, 5: 234 }
/** The smallest probability, for "not skipped" and "intra", because almost every macroblock is skipped. */
const RARE = 1
const CATEGORY_6_BITS = [254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129]

export interface Dimensions {
  readonly width: number
  readonly height: number
}

const macroblocks = ({ width, height }: Dimensions): { columns: number; rows: number } => ({
  columns: Math.ceil(width / 16),
  rows: Math.ceil(height / 16),
})

/** Joins the partitions and pads to `size` bytes; a decoder ignores the bytes after the last coefficient. */
function assemble(header: Buffer, key: boolean, modes: Buffer, coefficients: Buffer, size: number): Buffer {
  // Bit 0: not a key frame; bits 1 to 3: version 0; bit 4: shown; then the size of the first partition.
  header.writeUIntLE((key ? 0 : 1) | (1 << 4) | (modes.length << 5), 0, 3)
  const frame = Buffer.concat([header, modes, coefficients])
  return frame.length >= size ? frame : Buffer.concat([frame, Buffer.alloc(size - frame.length)])
}

/** The common part of both frame headers: no segments, no loop filter, one coefficient partition, finest quantizer. */
function writePlainHeader(encoder: BoolEncoder): void {
  encoder.literal(0, 1) // segmentation
  encoder.literal(0, 1 + 6 + 3) // loop filter: type, level, sharpness
  encoder.literal(0, 1) // loop filter adjustments
  encoder.literal(0, 2) // partitions of coefficients, log2
  encoder.literal(0, 7 + 5) // quantizer index and its five deltas
}

function writeUnchangedCoefficientProbabilities(encoder: BoolEncoder): void {
  for (const probability of COEFFICIENT_UPDATE) encoder.flag(probability, false)
  encoder.literal(1, 1) // macroblocks may be skipped
  encoder.literal(RARE, 8)
}

/** The coefficients of the first macroblock: its brightness, which all other macroblocks predict from. */
function writeBrightness(luma: number): Buffer {
  const encoder = new BoolEncoder()
  // With quantizer 8 and a transform that divides by 64, eight units are one step of brightness from 128.
  const value = (luma - 128) * 8
  // Second-order luma block: one coefficient of the largest category, then its end.
  for (const probability of [198, 35, 237, 223, 162, 145, 62]) encoder.flag(probability, true)
  const extra = Math.abs(value) - 67
  CATEGORY_6_BITS.forEach((probability, at) => encoder.flag(probability, ((extra >> (10 - at)) & 1) === 1))
  encoder.literal(value < 0 ? 1 : 0, 1)
  encoder.flag(81, false)
  // Sixteen luma blocks and eight chroma blocks are empty; both kinds have the same end probability.
  for (let block = 0; block < 24; block++) encoder.flag(253, false)
  return encoder.finish()
}

/**
 * Encodes a key frame of a single grey.
 * @param luma brightness, 16 to 235, but at least 9 from 128 (closer values need another coefficient category)
 * @param size the minimum size in bytes
 */
export function greyKeyFrame(picture: Dimensions, luma: number, size = 0): Buffer {
  if (luma < 16 || luma > 235 || Math.abs(luma - 128) < 9) throw new RangeError(`luma ${luma} is not 16…119 or 137…235`)
  const encoder = new BoolEncoder()
  encoder.literal(0, 2) // colour space, clamping
  writePlainHeader(encoder)
  encoder.literal(1, 1) // keep the probabilities
  writeUnchangedCoefficientProbabilities(encoder)
  const { columns, rows } = macroblocks(picture)
  for (let block = 0; block < columns * rows; block++) {
    encoder.flag(RARE, block > 0)
    // Luma and chroma are predicted from the mean of the neighbours.
    encoder.flag(145, true)
    encoder.flag(156, false)
    encoder.flag(163, false)
    encoder.flag(142, false)
  }
  const header = Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0])
  header.writeUInt16LE(picture.width, 6)
  header.writeUInt16LE(picture.height, 8)
  return assemble(header, true, encoder.finish(), writeBrightness(luma), size)
}

/** Encodes an inter frame that repeats the previous picture. */
export function repeatFrame(picture: Dimensions, size = 0): Buffer {
  const encoder = new BoolEncoder()
  writePlainHeader(encoder)
  encoder.literal(0, 2) // keep golden and alternate pictures
  encoder.literal(0, 4) // copy neither of them
  encoder.literal(0, 2) // sign biases
  encoder.literal(1, 1) // keep the probabilities
  encoder.literal(1, 1) // becomes the next previous picture
  writeUnchangedCoefficientProbabilities(encoder)
  encoder.literal(RARE, 8) // intra
  encoder.literal(255, 8) // refers to the previous picture
  encoder.literal(128, 8) // refers to the golden picture
  encoder.literal(0, 2) // keep the probabilities of intra modes
  for (const probability of MOTION_UPDATE) encoder.flag(probability, false)
  const { columns, rows } = macroblocks(picture)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      encoder.flag(RARE, true) // skipped
      encoder.flag(RARE, true) // inter
      encoder.flag(255, false) // from the previous picture
      const still = (row > 0 ? 2 : 0) + (column > 0 ? 2 : 0) + (row > 0 && column > 0 ? 1 : 0)
      encoder.flag(STILL_PROBABILITY[still] ?? 0, false)
    }
  }
  return assemble(Buffer.alloc(3), false, encoder.finish(), Buffer.alloc(1), size)
}
