const HEADER_BYTES = 8
const SIZE_64_BYTES = 16

export interface Box {
  type: string
  /** Of the file's bytes. */
  from: number
  to: number
}

/** The boxes of an MP4 file that are there as a whole: a file that is being written ends with one that is not. */
export function wholeBoxes(file: Buffer): Box[] {
  const boxes: Box[] = []
  for (let at = 0; at + HEADER_BYTES <= file.length;) {
    const short = file.readUInt32BE(at)
    if (short === 1 && at + SIZE_64_BYTES > file.length) break
    const size = short === 1 ? Number(file.readBigUInt64BE(at + HEADER_BYTES)) : short
    // 0 says: up to the end of the file, wherever that will be.
    if (size < HEADER_BYTES || at + size > file.length) break
    boxes.push({ type: file.toString('latin1', at + 4, at + HEADER_BYTES), from: at, to: at + size })
    at += size
  }
  return boxes
}

/** Whether a player could show something of it: what the tracks are, and one fragment of them. */
export function isDecodable(file: Buffer): boolean {
  const types = wholeBoxes(file).map(({ type }) => type)
  const fragment = types.indexOf('moof')
  const described = types.indexOf('moov')
  return described >= 0 && fragment > described && types.indexOf('mdat', fragment) > fragment
}
