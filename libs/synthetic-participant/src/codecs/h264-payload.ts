import type { PayloadStart } from './vp8-payload.js'

const SLICE = 1
const KEY_SLICE = 5
const PARAMETERS = 7
const AGGREGATED = 24
const FRAGMENT = 28

/** Parses an H.264 RTP payload (RFC 6184); returns undefined when it is too short. The size of the picture is not read. */
export function readH264(payload: Buffer): PayloadStart | undefined {
  if (payload.length < 3) return undefined
  const units = unitsOf(payload)
  const key = units.some(({ type }) => type === KEY_SLICE || type === PARAMETERS)
  return { start: units.some(isFirst), key, temporalLayer: undefined, width: undefined, height: undefined }
}

interface Unit {
  type: number
  /** The byte after its header. */
  next: number
}

/** The units that begin in a packet. */
function unitsOf(payload: Buffer): Unit[] {
  const type = payload.readUInt8(0) & 31
  const second = payload.readUInt8(1)
  if (type === FRAGMENT) return second & 0x80 ? [{ type: second & 31, next: payload.readUInt8(2) }] : []
  if (type !== AGGREGATED) return [{ type, next: second }]
  const units: Unit[] = []
  for (let at = 1; at + 3 < payload.length; at += 2 + payload.readUInt16BE(at))
    units.push({ type: payload.readUInt8(at + 2) & 31, next: payload.readUInt8(at + 3) })
  return units
}

/** Whether a picture begins with it. A slice that does has the number 0 of its first block, whose code is one bit. */
const isFirst = ({ type, next }: Unit): boolean =>
  type === SLICE || type === KEY_SLICE ? (next & 0x80) !== 0 : type > KEY_SLICE
