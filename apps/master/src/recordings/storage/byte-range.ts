/** Both ends are part of it. */
export interface ByteRange {
  from: number
  to: number
}

/**
 * What a `Range` header asks for of so many bytes; undefined when it is to be answered with everything, as without one:
 * another unit, or several ranges at once.
 */
export function askedRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, set] = /^\s*bytes\s*=(.*)$/i.exec(header ?? '') ?? []
  if (set === undefined || set.includes(',')) return undefined
  const [, first = '', last = ''] = /^\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/.exec(set) ?? []
  if (first === '' && last === '') return 'unsatisfiable'
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  const isFault = from > to || (first !== '' && last !== '' && Number(first) > Number(last))
  return isFault ? 'unsatisfiable' : { from, to }
}

/** Of a piece that is sent: its place, undefined for a file of no bytes, and the size of the whole. */
export interface SentRange {
  range: ByteRange | undefined
  size: number
}

/** The `Content-Range` of a request; undefined when it is not one that can be. */
export function sentRange(header: string | undefined): SentRange | undefined {
  if (header?.trim() === 'bytes */0') return { range: undefined, size: 0 }
  const [, from, to, size] = /^\s*bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})\s*$/.exec(header ?? '') ?? []
  if (from === undefined) return undefined
  const sent = { range: { from: Number(from), to: Number(to) }, size: Number(size) }
  return sent.range.from <= sent.range.to && sent.range.to < sent.size ? sent : undefined
}
