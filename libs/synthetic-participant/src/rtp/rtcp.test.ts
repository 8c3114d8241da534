import { describe, expect, it } from '@jest/globals'
import { RtcpPacketConverter } from 'werift'
import { negativeAck, ntpOf, pictureLoss, readRtcp, receiverReport, type RtcpListener, senderReport } from './rtcp.js'

function read(data: Buffer): unknown[] {
  const seen: unknown[] = []
  const listener: RtcpListener = {
    onKeyFrameRequest: (ssrc, kind) => seen.push([kind, ssrc]),
    onNack: (ssrc, sequences) => seen.push(['nack', ssrc, sequences]),
    onSenderReport: (ssrc, middleNtp) => seen.push(['sr', ssrc, middleNtp]),
  }
  readRtcp(data, listener)
  return seen
}

const EPOCH_MS = 1_700_000_000_500
const sent = { ssrc: 0x1111_1111, rtpTimestamp: 5000, epochMs: EPOCH_MS, packets: 10, octets: 900 }

describe('RTCP', () => {
  it('converts to NTP time', () => {
    expect(ntpOf(0)).toBe(2_208_988_800n << 32n)
    expect(ntpOf(EPOCH_MS) & 0xffff_ffffn).toBe(0x8000_0000n)
  })

  it('parses a compound packet and ignores unknown messages', () => {
    // Format 4, four words behind the first; sender 1, media 0, then one entry: stream 42, request number 1.
    const fir = Buffer.from('84ce000400000001000000000000002a01000000', 'hex')
    const lost = [65_534, 65_535, 3, 19, 20]
    const compound = Buffer.concat([senderReport(sent, 'me'), pictureLoss(1, 41), fir, negativeAck(1, 43, lost)])
    const middleNtp = Number((ntpOf(EPOCH_MS) >> 16n) & 0xffff_ffffn)
    expect(read(compound)).toEqual([
      ['sr', sent.ssrc, middleNtp],
      ['pli', 41],
      ['fir', 42],
      ['nack', 43, lost],
    ])
  })

  it('stops at a length beyond the end of the packet', () => {
    const broken = pictureLoss(1, 41)
    broken.writeUInt16BE(900, 2)
    expect(read(Buffer.concat([pictureLoss(1, 40), broken]))).toEqual([['pli', 40]])
    expect(read(Buffer.alloc(3))).toEqual([])
    expect(read(Buffer.from([0x81, 206, 0, 1, 0, 0, 0, 0]))).toEqual([])
  })

  it('splits reports of many streams into several packets', () => {
    const block = {
      fractionLost: 12,
      packetsLost: 3,
      highestSequence: 70_000,
      jitter: 5,
      lastSenderReport: 6,
      delaySinceSenderReport: 7,
    }
    const blocks = new Map(Array.from({ length: 40 }, (_, at) => [at + 1, block]))
    const packets = RtcpPacketConverter.deSerialize(receiverReport(9, blocks, 'me'))
    const reports = packets.flatMap((packet) => ('reports' in packet ? packet.reports : []))
    expect(reports).toHaveLength(40)
    expect(reports[39]).toMatchObject({ ssrc: 40, fractionLost: 12, packetsLost: 3, highestSequence: 70_000, dlsr: 7 })
    expect(packets.at(-1)?.type).toBe(202)
  })
})
