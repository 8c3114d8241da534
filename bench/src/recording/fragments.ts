const HEADER_BYTES = 8
const SIZE_64_BYTES = 16

interface Box {
  type: string
  /** Offset in the file, bytes. */
  from: number
  to: number
}

/** The complete boxes of an MP4 file: a file that is being written ends with an incomplete one. */
export function completeBoxes(file: Buffer): Box[] {
  const boxes: Box[] = []
  for (let at = 0; at + HEADER_BYTES <= file.length;) {
    const short = file.readUInt32BE(at)
    if (short === 1 && at + SIZE_64_BYTES > file.length) break
    const size = short === 1 ? Number(file.readBigUInt64BE(at + HEADER_BYTES)) : short
    // Size 0 means up to the end of the file, which is not known yet.
    if (size < HEADER_BYTES || at + size > file.length) break
    boxes.push({ type: file.toString('latin1', at + 4, at + HEADER_BYTES), from: at, to: at + size })
    at += size
  }
  return boxes
}

/** True if a player can show a picture of the file: it has the track description and a complete fragment. */
export function isDecodable(file: Buffer): boolean {
  const types = completeBoxes(file).map(({ type }) => type)
  const fragment = types.indexOf('moof')
  const described = types.indexOf('moov')
  return described >= 0 && fragment > described && types.indexOf('mdat', fragment) > fragment
}
