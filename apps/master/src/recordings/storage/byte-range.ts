/** Both ends are inclusive. */
export interface ByteRange {
  from: number
  to: number
}

/**
 * The range of a `Range` header for a file of `size` bytes. Undefined when the whole file is to be sent: without a
 * header, with another unit, or with several ranges.
 */
export function requestedRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, set] = /^\s*bytes\s*=(.*)$/i.exec(header ?? '') ?? []
  if (set === undefined || set.includes(',')) return undefined
  const [, first = '', last = ''] = /^(\d{0,15})\s*-\s*(\d{0,15})$/.exec(set.trim()) ?? []
  if (first === '' && last === '') return 'unsatisfiable'
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  const isInvalid = from > to || (first !== '' && last !== '' && Number(first) > Number(last))
  return isInvalid ? 'unsatisfiable' : { from, to }
}

/** The range of an uploaded piece, undefined for an empty file, and the size of the whole file. */
export interface ContentRange {
  range: ByteRange | undefined
  size: number
}

/** Parses the `Content-Range` of a request; undefined when it is invalid. */
export function contentRange(header: string | undefined): ContentRange | undefined {
  if (header?.trim() === 'bytes */0') return { range: undefined, size: 0 }
  const [, from, to, size] = /^\s*bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})\s*$/.exec(header ?? '') ?? []
  if (from === undefined) return undefined
  const parsed = { range: { from: Number(from), to: Number(to) }, size: Number(size) }
  return parsed.range.from <= parsed.range.to && parsed.range.to < parsed.size ? parsed : undefined
}
