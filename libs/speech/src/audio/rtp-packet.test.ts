import { expect, it } from '@jest/globals'
import { LEVEL_ID, rtpPacket } from './fixtures/rtp.js'
import { isRtcp, parseRtp } from './rtp-packet.js'

const PAYLOAD = Buffer.from('abcdef')

/** A packet with this extension profile and these bytes of elements, padded to words. */
function extended(profile: number, elements: readonly number[], words = Math.ceil(elements.length / 4)): Buffer {
  const packet = rtpPacket({ payload: PAYLOAD })
  packet[0] = 0x90
  const head = Buffer.alloc(4)
  head.writeUInt16BE(profile, 0)
  head.writeUInt16BE(words, 2)
  const body = Buffer.concat([Buffer.from(elements), Buffer.alloc(words * 4 - elements.length)])
  return Buffer.concat([packet.subarray(0, 12), head, body, packet.subarray(12)])
}

it('parses the fixed header and the payload', () => {
  const packet = rtpPacket({ sequence: 65_535, timestamp: 0xffff_fffe, ssrc: 0xdead_beef, payload: PAYLOAD })
  expect(parseRtp(packet)).toMatchObject({
    payloadType: 100,
    sequence: 65_535,
    timestamp: 0xffff_fffe,
    ssrc: 0xdead_beef,
    level: undefined,
  })
  expect(Buffer.from(parseRtp(packet)?.payload ?? []).toString()).toBe('abcdef')
})

it.each([
  ['a one-byte element', 0xbede, [LEVEL_ID << 4, 0x80 | 42], -42],
  ['an element behind others and padding', 0xbede, [0x11, 1, 2, 0, 0, LEVEL_ID << 4, 17], -17],
  ['a two-byte element', 0x1000, [3, 0, LEVEL_ID, 1, 99], -99],
  ['a two-byte profile with application bits', 0x100f, [LEVEL_ID, 1, 127], -127],
  ['no element with the id', 0xbede, [0x50, 9], undefined],
  ['the id that ends the list before it', 0xbede, [0xf0, LEVEL_ID << 4, 42], undefined],
  ['an element that is longer than the extension', 0xbede, [0x1f, 1, LEVEL_ID << 4, 42], undefined],
  ['an unknown profile', 0x1234, [LEVEL_ID << 4, 42], undefined],
])('reads the audio level from %s', (_name, profile, elements, level) => {
  const packet = parseRtp(extended(profile, elements), LEVEL_ID)
  expect(packet?.level).toBe(level)
  expect(Buffer.from(packet?.payload ?? []).toString()).toBe('abcdef')
})

it('skips contributing sources and removes padding', () => {
  const plain = rtpPacket({ payload: PAYLOAD })
  const packet = Buffer.concat([plain.subarray(0, 12), Buffer.alloc(8), plain.subarray(12), Buffer.of(0, 0, 3)])
  packet[0] = 0x80 | 0x20 | 2
  expect(Buffer.from(parseRtp(packet)?.payload ?? []).toString()).toBe('abcdef')
})

it.each([
  ['empty', Buffer.alloc(0)],
  ['shorter than a header', rtpPacket().subarray(0, 11)],
  ['of another version', Buffer.concat([Buffer.of(0x40), rtpPacket().subarray(1)])],
  ['with contributing sources beyond its end', Buffer.concat([Buffer.of(0x8f), rtpPacket().subarray(1)])],
  ['with an extension beyond its end', extended(0xbede, [1], 60).subarray(0, 20)],
  [
    'with an extension head beyond its end',
    Buffer.concat([Buffer.of(0x90), rtpPacket({ payload: Buffer.of(1) }).subarray(1)]),
  ],
  [
    'with more padding than payload',
    Buffer.concat([Buffer.of(0xa0), rtpPacket({ payload: Buffer.of(9) }).subarray(1)]),
  ],
  ['with padding of 0 bytes', Buffer.concat([Buffer.of(0xa0), rtpPacket({ payload: Buffer.of(0) }).subarray(1)])],
])('a packet %s is malformed', (_name, packet) => {
  expect(parseRtp(packet, LEVEL_ID)).toBeUndefined()
})

it('no prefix and no flipped byte of a packet throws', () => {
  const packet = extended(0xbede, [LEVEL_ID << 4, 42, 0x21, 1, 2])
  for (let at = 0; at < packet.length; at++) {
    parseRtp(packet.subarray(0, at), LEVEL_ID)
    for (const value of [0, 0x7f, 0xff]) {
      const changed = Buffer.from(packet)
      changed[at] = value
      const parsed = parseRtp(changed, LEVEL_ID)
      expect(parsed === undefined || parsed.payload.length <= packet.length).toBe(true)
    }
  }
})

it('distinguishes RTCP on the same port', () => {
  expect(isRtcp(Buffer.of(0x80, 200, 0, 6))).toBe(true)
  expect(isRtcp(rtpPacket())).toBe(false)
  expect(isRtcp(Buffer.of(0x00, 200))).toBe(false)
})
