import type { DtlsParameters, RtpCapabilities, TransportOptions } from '@session-service/contract'
import { randomInt } from 'node:crypto'
import { receiverReport } from '../rtp/rtcp.js'
import { extensionOffset, type SrtpKeys } from '../rtp/srtp.js'
import { TransportFeedback } from '../rtp/transport-feedback.js'
import { extensionId } from './rtp-parameters.js'
import { EXTENSION } from './rtp-sender.js'
import { ownCertificate, type Certificate } from '../transport/dtls.js'
import { MediaTransport } from '../transport/media-transport.js'

const FEEDBACK_MS = 50

export interface ReceivedPacket {
  /** By `performance.now()`. */
  readonly at: number
  readonly ssrc: number
  /** 16 bits. */
  readonly sequence: number
  readonly timestamp: number
  readonly isLastOfPicture: boolean
  readonly payload: Buffer
}

/**
 * The client end of a receive transport, which keeps the packets of every codec and reports their arrival, so that the
 * server estimates the bandwidth. It asks for no retransmission and no key frame.
 */
export class PacketReceiver {
  static async open(
    options: TransportOptions,
    capabilities: RtpCapabilities,
    capacityKbps?: number,
  ): Promise<PacketReceiver> {
    return new PacketReceiver(options, await ownCertificate(), capabilities, capacityKbps)
  }

  readonly dtlsParameters: DtlsParameters
  readonly #transport: MediaTransport
  readonly #arrivals: TransportFeedback
  readonly #sequenceId: number | undefined
  readonly #ssrc = randomInt(1, 0xffff_ffff)
  readonly #packets = new Map<number, ReceivedPacket[]>()
  /** By SSRC: the highest sequence number with its wraps. */
  readonly #highest = new Map<number, number>()
  readonly #timer: NodeJS.Timeout

  private constructor(
    options: TransportOptions,
    certificate: Certificate,
    capabilities: RtpCapabilities,
    capacityKbps: number | undefined,
  ) {
    this.dtlsParameters = certificate.parameters
    this.#arrivals = new TransportFeedback(capacityKbps)
    this.#sequenceId = extensionId(capabilities, EXTENSION.transportSequence)
    this.#transport = new MediaTransport(options, certificate, {
      onRtp: (packet, headerLength, keys) => this.#receive(packet, headerLength, keys),
    })
    this.#timer = setInterval(() => this.#sendFeedback(), FEEDBACK_MS)
  }

  /** Connects after the server has got the DTLS parameters. */
  connect(): Promise<void> {
    return this.#transport.connect()
  }

  /** The packets that have arrived with this SSRC, and later ones as they arrive. */
  of(ssrc: number): readonly ReceivedPacket[] {
    return this.#packetsOf(ssrc)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#transport.close()
  }

  #receive(packet: Buffer, headerLength: number, keys: SrtpKeys): void {
    const at = performance.now()
    const [sequence, ssrc] = [packet.readUInt16BE(2), packet.readUInt32BE(8)]
    const offset = this.#sequenceId && extensionOffset(packet, this.#sequenceId, headerLength)
    if (offset) this.#arrivals.arrive(packet.readUInt16BE(offset), packet.length, at)
    const payload = keys.unprotect(packet, headerLength, this.#wraps(ssrc, sequence))
    if (!payload) return
    const isLastOfPicture = ((packet[1] ?? 0) & 0x80) !== 0
    this.#packetsOf(ssrc).push({ at, ssrc, sequence, timestamp: packet.readUInt32BE(4), isLastOfPicture, payload })
  }

  #packetsOf(ssrc: number): ReceivedPacket[] {
    const packets = this.#packets.get(ssrc) ?? []
    this.#packets.set(ssrc, packets)
    return packets
  }

  #wraps(ssrc: number, sequence: number): number {
    const highest = this.#highest.get(ssrc) ?? sequence
    const distance = (sequence - highest) & 0xffff
    const unrolled = highest + (distance < 0x8000 ? distance : distance - 0x1_0000)
    this.#highest.set(ssrc, Math.max(highest, unrolled))
    return Math.floor(unrolled / 0x1_0000)
  }

  #sendFeedback(): void {
    const [media] = this.#highest.keys()
    if (media === undefined) return
    this.#transport.sendRtcp(receiverReport(this.#ssrc, new Map(), 'packet-receiver'))
    for (const feedback of this.#arrivals.take(this.#ssrc, media, performance.now())) this.#transport.sendRtcp(feedback)
  }
}
