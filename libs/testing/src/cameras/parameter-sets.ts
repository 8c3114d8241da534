/** The begin of a sequence parameter set of the main profile, as x264 writes it. */
const BEGIN = Buffer.from([0x67, 0x4d, 0x40])
const PROFILE_BYTES = 4
/** Longer than those of small pictures. */
const LONGEST = 64

/**
 * Removes the usability information (VUI) from the H.264 parameter sets of a file, without a change of their length. It
 * announces the reordering of pictures.
 */
export function withoutUsabilityInformation(file: Buffer): Buffer {
  const result = Buffer.from(file)
  let count = 0
  for (let at = result.indexOf(BEGIN); at >= 0; at = result.indexOf(BEGIN, at + 1)) {
    clearFrom(result, at, usabilityBit(result.subarray(at, at + LONGEST)), lengthBefore(result, at))
    count++
  }
  if (count === 0) throw new Error('the file has no parameter set of the main profile')
  return result
}

/** In containers, two bytes with the length precede a parameter set. */
const lengthBefore = (file: Buffer, at: number): number => file.readUInt16BE(at - 2)

/** The position of the bit that announces the information. */
function usabilityBit(unit: Buffer): number {
  let position = PROFILE_BYTES * 8
  const bit = (): number => ((unit[position >> 3] ?? 0) >> (7 - (position++ & 7))) & 1
  const golomb = (): number => {
    let zeros = 0
    while (bit() === 0) zeros++
    let value = 1
    for (let at = 0; at < zeros; at++) value = value * 2 + bit()
    return value - 1
  }
  // The id, the lengths of frame numbers and orders, reference frames, gaps, width and height.
  golomb()
  golomb()
  if (golomb() === 0) golomb()
  golomb()
  bit()
  golomb()
  golomb()
  if (bit() === 0) bit()
  bit()
  if (bit() === 1) for (let at = 0; at < 4; at++) golomb()
  return position
}

/** Clears the bit, sets the stop bit after it, and clears the rest of the unit. */
function clearFrom(file: Buffer, unit: number, position: number, length: number): void {
  const at = unit + (position >> 3)
  const bits = ((file.readUInt8(at) << 8) | file.readUInt8(at + 1)) & (0xffff << (16 - (position & 7)))
  file.writeUInt16BE((bits | (0x4000 >> (position & 7))) & 0xffff, at)
  file.fill(0, at + 2, unit + length)
}
