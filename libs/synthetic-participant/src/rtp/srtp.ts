import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'

/** The number of AEAD_AES_128_GCM (RFC 7714), the offered suite, in the use_srtp extension of DTLS. */
export const SRTP_AEAD_AES_128_GCM = 7
export const SRTP_KEY_BYTES = 16
export const SRTP_SALT_BYTES = 12
export const SRTP_TAG_BYTES = 16

const ALGORITHM = 'aes-128-gcm'

/** The length of the header with CSRCs and extension; exceeds the packet's length if it is malformed. */
export function rtpHeaderLength(packet: Buffer): number {
  const first = packet[0] ?? 0
  const fixed = 12 + (first & 0x0f) * 4
  if (!(first & 0x10)) return fixed
  return packet.length < fixed + 4 ? Infinity : fixed + 4 + packet.readUInt16BE(fixed + 2) * 4
}

/** The offset of a one-byte header extension's value (RFC 8285); 0 if the packet does not contain the id. */
export function extensionOffset(packet: Buffer, id: number, headerLength: number): number {
  let at = 12 + ((packet[0] ?? 0) & 0x0f) * 4
  if (headerLength <= at || packet.readUInt16BE(at) !== 0xbede) return 0
  for (at += 4; at < headerLength;) {
    const head = packet[at] ?? 0
    if (head >> 4 === id) return at + 1
    at += head === 0 ? 1 : 2 + (head & 0x0f)
  }
  return 0
}

/**
 * SRTP of one direction with derived session keys. It works in place, because the copies of a general library cost more
 * than the cipher (measured: 20 to 28 µs per packet, compared with 5).
 */
export class SrtpKeys {
  readonly #key: KeyObject
  readonly #salt: Buffer
  readonly #iv = Buffer.alloc(SRTP_SALT_BYTES)

  constructor(sessionKey: Buffer, sessionSalt: Buffer) {
    this.#key = createSecretKey(sessionKey)
    this.#salt = Buffer.from(sessionSalt.subarray(0, SRTP_SALT_BYTES))
  }

  /**
   * Encrypts the payload in place and appends the tag.
   * @param length the length of header and payload; the buffer must have {@link SRTP_TAG_BYTES} more
   * @param rollover the number of wraps of the sequence number
   * @returns the length of the encrypted packet
   */
  protect(packet: Buffer, headerLength: number, length: number, rollover: number): number {
    const cipher = createCipheriv(ALGORITHM, this.#key, this.#ivOf(packet, rollover))
    cipher.setAAD(packet.subarray(0, headerLength))
    cipher.update(packet.subarray(headerLength, length)).copy(packet, headerLength)
    cipher.final()
    cipher.getAuthTag().copy(packet, length)
    return length + SRTP_TAG_BYTES
  }

  /** Returns the payload of a packet, or undefined for an invalid tag. */
  unprotect(packet: Buffer, headerLength: number, rollover: number): Buffer | undefined {
    const end = packet.length - SRTP_TAG_BYTES
    if (end < headerLength) return undefined
    const decipher = createDecipheriv(ALGORITHM, this.#key, this.#ivOf(packet, rollover))
    decipher.setAAD(packet.subarray(0, headerLength))
    decipher.setAuthTag(packet.subarray(end))
    const payload = decipher.update(packet.subarray(headerLength, end))
    try {
      decipher.final()
    } catch {
      return undefined
    }
    return payload
  }

  /** Two zero bytes, SSRC, rollover counter and sequence number, XORed with the salt. */
  #ivOf(packet: Buffer, rollover: number): Buffer {
    const iv = this.#iv
    iv.writeUInt16BE(0, 0)
    packet.copy(iv, 2, 8, 12)
    iv.writeUInt32BE(rollover >>> 0, 6)
    packet.copy(iv, 10, 2, 4)
    for (let at = 0; at < SRTP_SALT_BYTES; at++) iv[at] = (iv[at] ?? 0) ^ (this.#salt[at] ?? 0)
    return iv
  }
}
