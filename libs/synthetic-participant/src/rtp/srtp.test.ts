import { describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { RtpHeader, RtpPacket, SrtpSession } from 'werift'
import {
  extensionOffset,
  rtpHeaderLength,
  SRTP_AEAD_AES_128_GCM,
  SRTP_KEY_BYTES,
  SRTP_SALT_BYTES,
  SRTP_TAG_BYTES,
  SrtpKeys,
} from './srtp.js'

const master = { key: randomBytes(SRTP_KEY_BYTES), salt: randomBytes(SRTP_SALT_BYTES) }
// The session of another implementation with the same keys in both directions.
const other = new SrtpSession({
  profile: SRTP_AEAD_AES_128_GCM,
  keys: {
    localMasterKey: master.key,
    localMasterSalt: master.salt,
    remoteMasterKey: master.key,
    remoteMasterSalt: master.salt,
  },
})
const keys = new SrtpKeys(other.localContext.srtpSessionKey, other.localContext.srtpSessionSalt)

const header = (sequenceNumber: number): RtpHeader =>
  new RtpHeader({
    sequenceNumber,
    timestamp: 1000,
    payloadType: 96,
    ssrc: 0xdead_beef,
    extension: true,
    extensionProfile: 0xbede,
    extensions: [
      { id: 1, payload: Buffer.from('7') },
      { id: 5, payload: Buffer.from([0x12, 0x34]) },
    ],
  })
const payload = Buffer.from('what is said in the room')
const plain = (sequenceNumber: number): Buffer => new RtpPacket(header(sequenceNumber), payload).serialize()

describe('SRTP', () => {
  it('encrypts packets that another implementation decrypts', () => {
    const packet = Buffer.concat([plain(7), Buffer.alloc(SRTP_TAG_BYTES)])
    const length = packet.length - SRTP_TAG_BYTES
    expect(keys.protect(packet, rtpHeaderLength(packet), length, 0)).toBe(packet.length)
    expect(packet.includes(payload)).toBe(false)
    expect(other.decrypt(packet)).toEqual(plain(7))
  })

  it('decrypts packets of another implementation, also after a wrap of the sequence number', () => {
    for (const [sequence, rollover] of [
      [65_535, 0],
      [0, 1],
      [1, 1],
    ] as const) {
      const packet = other.encrypt(payload, header(sequence))
      expect(keys.unprotect(packet, rtpHeaderLength(packet), rollover)).toEqual(payload)
      expect(keys.unprotect(packet, rtpHeaderLength(packet), rollover + 1)).toBeUndefined()
    }
  })

  it('rejects modified packets', () => {
    const packet = other.encrypt(payload, header(9))
    packet[packet.length - SRTP_TAG_BYTES - 1]! ^= 1
    expect(keys.unprotect(packet, rtpHeaderLength(packet), 1)).toBeUndefined()
    expect(keys.unprotect(packet.subarray(0, 20), 12, 0)).toBeUndefined()
  })

  it('finds header extensions', () => {
    const packet = plain(1)
    const length = rtpHeaderLength(packet)
    expect(packet.subarray(length)).toEqual(payload)
    expect(packet.readUInt16BE(extensionOffset(packet, 5, length))).toBe(0x1234)
    expect(extensionOffset(packet, 6, length)).toBe(0)
    const bare = Buffer.concat([Buffer.from([0x80, 96]), Buffer.alloc(10)])
    expect(extensionOffset(bare, 5, rtpHeaderLength(bare))).toBe(0)
    expect(rtpHeaderLength(Buffer.concat([Buffer.from([0x90, 96]), Buffer.alloc(10)]))).toBe(Infinity)
  })
})
