import {
  GenericNack,
  PictureLossIndication,
  RtcpPayloadSpecificFeedback,
  RtcpReceiverInfo,
  RtcpRrPacket,
  RtcpSenderInfo,
  RtcpSourceDescriptionPacket,
  RtcpSrPacket,
  RtcpTransportLayerFeedback,
  SourceDescriptionChunk,
  SourceDescriptionItem,
} from 'werift'
import type { ReportBlock } from './reception.js'

const SENDER_REPORT = 200
const TRANSPORT_FEEDBACK = 205
const PAYLOAD_FEEDBACK = 206
const GENERIC_NACK = 1
const PLI = 1
const FIR = 4
const CNAME = 1
const NTP_EPOCH_OFFSET_S = 2_208_988_800

/** The RTCP messages that the participant handles; others in a compound packet are ignored. */
export interface RtcpListener {
  onKeyFrameRequest?(ssrc: number, kind: 'pli' | 'fir'): void
  onNack?(ssrc: number, sequences: readonly number[]): void
  onSenderReport?(ssrc: number, middleNtp: number): void
}

/** Parses a plain compound packet, up to an invalid length. */
export function readRtcp(data: Buffer, listener: RtcpListener): void {
  for (let at = 0; at + 8 <= data.length;) {
    const end = at + (data.readUInt16BE(at + 2) + 1) * 4
    if (end > data.length) return
    readOne(data.subarray(at, end), listener)
    at = end
  }
}

function readOne(packet: Buffer, listener: RtcpListener): void {
  const format = (packet[0] ?? 0) & 0x1f
  const type = packet[1] ?? 0
  if (type === SENDER_REPORT && packet.length >= 28) {
    listener.onSenderReport?.(packet.readUInt32BE(4), packet.readUInt32BE(10))
  } else if (packet.length < 12) {
    return
  } else if (type === PAYLOAD_FEEDBACK && format === PLI) {
    listener.onKeyFrameRequest?.(packet.readUInt32BE(8), 'pli')
  } else if (type === PAYLOAD_FEEDBACK && format === FIR) {
    for (let at = 12; at + 8 <= packet.length; at += 8) listener.onKeyFrameRequest?.(packet.readUInt32BE(at), 'fir')
  } else if (type === TRANSPORT_FEEDBACK && format === GENERIC_NACK) {
    listener.onNack?.(packet.readUInt32BE(8), nackedSequences(packet))
  }
}

function nackedSequences(packet: Buffer): number[] {
  const sequences: number[] = []
  for (let at = 12; at + 4 <= packet.length; at += 4) {
    const first = packet.readUInt16BE(at)
    const following = packet.readUInt16BE(at + 2)
    sequences.push(first)
    for (let bit = 0; bit < 16; bit++) if ((following >> bit) & 1) sequences.push((first + bit + 1) & 0xffff)
  }
  return sequences
}

/** NTP time (32.32 fixed point) of an epoch time in ms. */
export function ntpOf(epochMs: number): bigint {
  const seconds = Math.floor(epochMs / 1000)
  const fraction = Math.floor(((epochMs - seconds * 1000) / 1000) * 2 ** 32)
  return (BigInt(seconds + NTP_EPOCH_OFFSET_S) << 32n) | BigInt(fraction)
}

const description = (ssrc: number, cname: string): Buffer =>
  new RtcpSourceDescriptionPacket({
    chunks: [
      new SourceDescriptionChunk({ source: ssrc, items: [new SourceDescriptionItem({ type: CNAME, text: cname })] }),
    ],
  }).serialize()

export interface SentFigures {
  readonly ssrc: number
  /** The RTP timestamp of `epochMs`. */
  readonly rtpTimestamp: number
  readonly epochMs: number
  readonly packets: number
  readonly octets: number
}

export function senderReport(sent: SentFigures, cname: string): Buffer {
  const senderInfo = new RtcpSenderInfo({
    ntpTimestamp: ntpOf(sent.epochMs),
    rtpTimestamp: sent.rtpTimestamp >>> 0,
    packetCount: sent.packets >>> 0,
    octetCount: sent.octets >>> 0,
  })
  return Buffer.concat([new RtcpSrPacket({ ssrc: sent.ssrc, senderInfo }).serialize(), description(sent.ssrc, cname)])
}

const REPORTS_A_PACKET = 31

export function receiverReport(ssrc: number, blocks: ReadonlyMap<number, ReportBlock>, cname: string): Buffer {
  const reports = [...blocks].map(
    ([source, block]) =>
      new RtcpReceiverInfo({
        ssrc: source,
        fractionLost: block.fractionLost,
        packetsLost: block.packetsLost,
        highestSequence: block.highestSequence,
        jitter: block.jitter,
        lsr: block.lastSenderReport,
        dlsr: block.delaySinceSenderReport,
      }),
  )
  const packets: Buffer[] = []
  for (let at = 0; at === 0 || at < reports.length; at += REPORTS_A_PACKET) {
    packets.push(new RtcpRrPacket({ ssrc, reports: reports.slice(at, at + REPORTS_A_PACKET) }).serialize())
  }
  return Buffer.concat([...packets, description(ssrc, cname)])
}

export const pictureLoss = (ssrc: number, media: number): Buffer =>
  new RtcpPayloadSpecificFeedback({
    feedback: new PictureLossIndication({ senderSsrc: ssrc, mediaSsrc: media }),
  }).serialize()

export const negativeAck = (ssrc: number, media: number, sequences: readonly number[]): Buffer =>
  new RtcpTransportLayerFeedback({
    feedback: new GenericNack({ senderSsrc: ssrc, mediaSourceSsrc: media, lost: [...sequences] }),
  }).serialize()
