/** The fields of the VP8 payload descriptor (RFC 7741) that this peer writes and reads. */
interface DescriptorFields {
  readonly start: boolean
  /** 15 bits. */
  readonly pictureId: number
  /** Absent in a stream with one temporal layer. */
  readonly temporal?: { readonly id: number; readonly tl0PicIdx: number; readonly sync: boolean }
}

const WITHOUT_TEMPORAL_BYTES = 4
const WITH_TEMPORAL_BYTES = 6
export const descriptorBytes = (temporal: boolean): number => (temporal ? WITH_TEMPORAL_BYTES : WITHOUT_TEMPORAL_BYTES)

/** Writes a descriptor at `offset` and returns the offset behind it. */
export function writeDescriptor(packet: Buffer, offset: number, fields: DescriptorFields): number {
  const { temporal } = fields
  // X, N (non-reference frame) for the highest temporal layer, S.
  packet[offset] = 0x80 | (temporal?.id === 2 ? 0x20 : 0) | (fields.start ? 0x10 : 0)
  packet[offset + 1] = temporal ? 0xe0 : 0x80
  packet.writeUInt16BE(0x8000 | (fields.pictureId & 0x7fff), offset + 2)
  if (!temporal) return offset + WITHOUT_TEMPORAL_BYTES
  packet[offset + 4] = temporal.tl0PicIdx & 0xff
  packet[offset + 5] = (temporal.id << 6) | (temporal.sync ? 0x20 : 0)
  return offset + WITH_TEMPORAL_BYTES
}

export interface PayloadStart {
  /** Whether it is the first packet of a frame. */
  readonly start: boolean
  readonly key: boolean
  readonly temporalLayer: number | undefined
  /** Whether it belongs to a key frame. */
  readonly width: number | undefined
  readonly height: number | undefined
}

/** Parses a VP8 RTP payload; returns undefined when it is too short. */
export function readPayload(payload: Buffer): PayloadStart | undefined {
  const first = payload[0]
  if (first === undefined) return undefined
  let at = 1
  let temporalLayer: number | undefined
  if (first & 0x80) {
    const extension = payload[at++] ?? 0
    if (extension & 0x80) at += (payload[at] ?? 0) & 0x80 ? 2 : 1
    if (extension & 0x40) at++
    if (extension & 0x20) temporalLayer = (payload[at] ?? 0) >> 6
    if (extension & 0x30) at++
  }
  if (at >= payload.length) return undefined
  const start = (first & 0x10) !== 0 && (first & 0x07) === 0
  const key = start && ((payload[at] ?? 1) & 1) === 0
  const sized = key && payload.length >= at + 10
  return {
    start,
    key,
    temporalLayer,
    width: sized ? payload.readUInt16LE(at + 6) & 0x3fff : undefined,
    height: sized ? payload.readUInt16LE(at + 8) & 0x3fff : undefined,
  }
}
