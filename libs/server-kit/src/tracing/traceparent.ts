/** The position of a span in its trace, as in the W3C header `traceparent`. */
export interface TracePosition {
  traceId: string
  spanId: string
  isSampled: boolean
}

const SHAPE = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 0x01

/** Undefined for a value that is no valid `traceparent`: the receiver then starts a trace of its own. */
export function parseTraceparent(value: unknown): TracePosition | undefined {
  if (typeof value !== 'string') return undefined
  const [, version, traceId, spanId, flags, rest] = SHAPE.exec(value.trim()) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Later versions may have further parts; this one has not.
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TracePosition): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
