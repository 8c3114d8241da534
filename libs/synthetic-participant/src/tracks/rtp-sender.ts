import type { RtpParameters } from '@session-service/contract'
import { randomInt } from 'node:crypto'
import type { PacketSink } from '../transport/media-transport.js'
import { epochMs } from '../rtp/pacer.js'
import type { SentFigures } from '../rtp/rtcp.js'
import { SRTP_TAG_BYTES } from '../rtp/srtp.js'

export const EXTENSION = {
  mid: 'urn:ietf:params:rtp-hdrext:sdes:mid',
  rid: 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id',
  audioLevel: 'urn:ietf:params:rtp-hdrext:ssrc-audio-level',
  transportSequence: 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
} as const

const FIXED_HEADER_BYTES = 12
const ONE_BYTE_PROFILE = 0xbede
/** The transport-wide sequence number. */
export interface TransportSequence {
  next: number
}

interface SenderOptions {
  readonly ssrc: number
  readonly payloadType: number
  readonly clockRate: number
  readonly mid: string
  readonly rid?: string
  readonly audioLevel?: number
  readonly extensions: NonNullable<RtpParameters['headerExtensions']>
  /** The maximum payload, bytes. */
  readonly payloadBytes: number
  /** The number of packets kept for retransmission; a power of two. */
  readonly history: number
  readonly sequence: TransportSequence
}

/** The constant part of a header, and the offset of the transport-wide sequence number in it (0: none). */
function headerTemplate(options: SenderOptions): { header: Buffer; sequenceAt: number } {
  const ids = new Map(options.extensions.map(({ uri, id }) => [uri, id]))
  const elements: Buffer[] = []
  const add = (uri: string, value: Buffer | undefined): number => {
    const id = ids.get(uri)
    if (id === undefined || value === undefined) return 0
    const at = FIXED_HEADER_BYTES + 4 + elements.reduce((sum, { length }) => sum + length, 0) + 1
    elements.push(Buffer.concat([Buffer.from([(id << 4) | (value.length - 1)]), value]))
    return at
  }
  add(EXTENSION.mid, Buffer.from(options.mid))
  add(EXTENSION.rid, options.rid === undefined ? undefined : Buffer.from(options.rid))
  // The first bit signals voice activity.
  add(EXTENSION.audioLevel, options.audioLevel === undefined ? undefined : Buffer.from([0x80 | options.audioLevel]))
  const sequenceAt = add(EXTENSION.transportSequence, Buffer.alloc(2))
  const body = Buffer.concat(elements)
  const words = Math.ceil(body.length / 4)
  const header = Buffer.alloc(FIXED_HEADER_BYTES + 4 + words * 4)
  header[0] = 0x90
  header[1] = options.payloadType
  header.writeUInt32BE(options.ssrc, 8)
  header.writeUInt16BE(ONE_BYTE_PROFILE, FIXED_HEADER_BYTES)
  header.writeUInt16BE(words, FIXED_HEADER_BYTES + 2)
  body.copy(header, FIXED_HEADER_BYTES + 4)
  return { header, sequenceAt }
}

/** An outgoing RTP stream. Packets are built and encrypted in place in a ring buffer that serves retransmissions. */
export class RtpSender {
  packets = 0
  octets = 0
  resent = 0
  keyFrameRequests = 0
  readonly #template: ReturnType<typeof headerTemplate>
  readonly #slots: Buffer[]
  readonly #lengths: Int32Array
  readonly #sequences: Int32Array
  /** Unrolled; starts low enough that a receiver that misses the first packets does not miss a wrap. */
  #index = randomInt(1, 0x7000)
  #timestampBase = randomInt(0, 0xffff_ffff)
  readonly #transport: PacketSink

  constructor(
    readonly options: SenderOptions,
    transport: PacketSink,
  ) {
    this.#transport = transport

    this.#template = headerTemplate(options)
    this.#slots = Array.from({ length: options.history }, () => this.#newSlot())
    this.#lengths = new Int32Array(options.history)
    this.#sequences = new Int32Array(options.history).fill(-1)
  }

  get ssrc(): number {
    return this.options.ssrc
  }

  /** The RTP timestamp of a time on the clock of `performance.now()`. */
  timestampAt(now: number): number {
    return (this.#timestampBase + Math.round((now * this.options.clockRate) / 1000)) >>> 0
  }

  /**
   * Sends a packet if the SRTP keys exist.
   * @param write writes the payload at the offset and returns the offset behind it
   */
  send(timestamp: number, marker: boolean, write: (packet: Buffer, offset: number) => number): void {
    const keys = this.#transport.sendKeys
    if (!keys) return
    const slot = this.#index % this.options.history
    const packet = this.#freeSlot(slot)
    const { header } = this.#template
    this.#writeHeader(packet, timestamp, marker)
    const length = write(packet, header.length)
    const wire = keys.protect(packet, header.length, length, Math.floor(this.#index / 0x1_0000))
    this.#lengths[slot] = wire
    this.#sequences[slot] = this.#index & 0xffff
    this.#index++
    this.packets++
    this.octets += length - header.length
    this.#transport.sendProtected(packet.subarray(0, wire))
  }

  /** Retransmits lost packets that are still in the buffer. */
  resend(sequences: readonly number[]): void {
    for (const sequence of sequences) {
      const slot = this.#sequences.indexOf(sequence)
      const packet = this.#slots[slot]
      if (slot < 0 || !packet) continue
      this.resent++
      this.#transport.sendProtected(packet.subarray(0, this.#lengths[slot]))
    }
  }

  /** The values for a sender report; undefined before the first packet. */
  figuresAt(now: number): SentFigures | undefined {
    if (this.packets === 0) return undefined
    const { ssrc, packets, octets } = this
    return { ssrc, rtpTimestamp: this.timestampAt(now), epochMs: epochMs(now), packets, octets }
  }

  #newSlot(): Buffer {
    return Buffer.alloc(this.#template.header.length + this.options.payloadBytes + SRTP_TAG_BYTES)
  }

  /** Returns the buffer of a slot; allocates a new one while the system may still read the old one. */
  #freeSlot(slot: number): Buffer {
    const packet = this.#slots[slot]
    if (packet && this.#transport.isFlushed) return packet
    return (this.#slots[slot] = this.#newSlot())
  }

  #writeHeader(packet: Buffer, timestamp: number, marker: boolean): void {
    const { header, sequenceAt } = this.#template
    header.copy(packet)
    if (marker) packet[1] = 0x80 | this.options.payloadType
    packet.writeUInt16BE(this.#index & 0xffff, 2)
    packet.writeUInt32BE(timestamp, 4)
    if (sequenceAt) packet.writeUInt16BE(this.options.sequence.next++ & 0xffff, sequenceAt)
  }
}
