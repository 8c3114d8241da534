/** The fields of an RTP packet that the audio path uses. */
export interface RtpPacket {
  payloadType: number
  sequence: number
  /** 32 bits, in the clock of the codec. */
  timestamp: number
  ssrc: number
  payload: Uint8Array
  /** The level of the audio in this packet (RFC 6464), dBov: 0 is the loudest, -127 is silence. */
  level: number | undefined
}

const FIXED_HEADER_BYTES = 12
const VERSION_2 = 2
const ONE_BYTE_PROFILE = 0xbede
const TWO_BYTE_PROFILE = 0x1000
/** Id of one-byte elements that ends the list. */
const RESERVED_ID = 15

/** RTCP on the same port has packet types 192 to 223 (RFC 5761). */
export const isRtcp = (packet: Uint8Array): boolean => {
  const type = packet[1] ?? 0
  return (packet[0] ?? 0) >> 6 === VERSION_2 && type >= 192 && type <= 223
}

/**
 * Parses an RTP packet; undefined for a malformed one. The payload is a view of the packet.
 * @param levelId the id of the audio-level header extension; undefined where it is not negotiated
 */
export function parseRtp(packet: Uint8Array, levelId?: number): RtpPacket | undefined {
  const first = packet[0] ?? 0
  if (packet.length < FIXED_HEADER_BYTES || first >> 6 !== VERSION_2) return undefined
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength)
  let at = FIXED_HEADER_BYTES + (first & 0x0f) * 4
  let level: number | undefined
  if (first & 0x10) {
    if (at + 4 > packet.length) return undefined
    const begin = at + 4
    at = begin + view.getUint16(at + 2) * 4
    if (at > packet.length) return undefined
    level = levelId === undefined ? undefined : audioLevel(packet, view.getUint16(begin - 4), begin, at, levelId)
  }
  const end = packet.length - (first & 0x20 ? (packet.at(-1) ?? 0) : 0)
  // A padding count of 0 would not count itself.
  if (at > end || (first & 0x20 && end === packet.length)) return undefined
  return {
    payloadType: (packet[1] ?? 0) & 0x7f,
    sequence: view.getUint16(2),
    timestamp: view.getUint32(4),
    ssrc: view.getUint32(8),
    payload: packet.subarray(at, end),
    level,
  }
}

/** The value of the audio-level element; undefined where the list has none or is truncated. */
function audioLevel(
  packet: Uint8Array,
  profile: number,
  begin: number,
  end: number,
  levelId: number,
): number | undefined {
  const isOneByte = profile === ONE_BYTE_PROFILE
  if (!isOneByte && (profile & 0xfff0) !== TWO_BYTE_PROFILE) return undefined
  for (let at = begin; at < end;) {
    const head = packet[at] ?? 0
    if (head === 0) {
      at++
      continue
    }
    const id = isOneByte ? head >> 4 : head
    if (isOneByte && id === RESERVED_ID) return undefined
    const length = isOneByte ? (head & 0x0f) + 1 : (packet[at + 1] ?? 0)
    const value = at + (isOneByte ? 1 : 2)
    if (value + length > end) return undefined
    // The highest bit is the sender's own voice activity, which browsers do not set consistently.
    if (id === levelId && length >= 1) return -((packet[value] ?? 0) & 0x7f)
    at = value + length
  }
  return undefined
}
