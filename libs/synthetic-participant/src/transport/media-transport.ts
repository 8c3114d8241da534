import type { IceParameters, TransportOptions } from '@session-service/contract'
import { type Certificate, DtlsHandshake, type MediaKeys } from './dtls.js'
import { IceClient } from './ice.js'
import { pacer } from '../rtp/pacer.js'
import { type RtcpListener, readRtcp } from '../rtp/rtcp.js'
import { rtpHeaderLength, type SrtpKeys } from '../rtp/srtp.js'
import { bestCandidate, type Endpoint, UdpPath } from './udp-path.js'

const FIRST_RTCP_TYPE = 192
const LAST_RTCP_TYPE = 223
const CONNECT_TIMEOUT_MS = 15_000

interface TransportListener extends RtcpListener {
  /** A received, still encrypted RTP packet. */
  onRtp?(packet: Buffer, headerLength: number, keys: SrtpKeys): void
}

/** A simulated sending link. */
export interface Uplink {
  /** The share of RTP packets that it loses, 0 to 1. */
  lossRate: number
}

export interface TransportFigures {
  readonly localPort: number
  readonly packetsSent: number
  readonly packetsReceived: number
  /** The number of packets of an unknown protocol, or before the keys existed. */
  readonly strays: number
  /** The number of answers to connectivity checks. */
  readonly iceAnswers: number
  readonly refusedSends: number
}

/** The part of a transport that a sender of media uses. */
export type PacketSink = Pick<MediaTransport, 'sendKeys' | 'sendProtected' | 'sendRtcp' | 'isFlushed'>

/** The client end of a WebRTC transport: a UDP socket with ICE, DTLS and the resulting SRTP keys. */
export class MediaTransport {
  packetsSent = 0
  packetsReceived = 0
  strays = 0
  /** The part of a packet that the uplink has to lose next. */
  #toLose = 0
  readonly ice: IceClient
  readonly #handshake: DtlsHandshake
  readonly #endpoint: Endpoint
  readonly #onPacket = (packet: Buffer): void => this.#receive(packet)
  readonly #checks
  #path: UdpPath | undefined
  #keys: MediaKeys | undefined
  #opened: Promise<void> | undefined
  #connected: Promise<void> | undefined
  readonly #ended = Promise.withResolvers<never>()
  #closed = false
  readonly #listener: TransportListener
  readonly #uplink: Uplink | undefined

  constructor(
    options: TransportOptions,
    readonly certificate: Certificate,
    listener: TransportListener,
    uplink?: Uplink,
  ) {
    this.#listener = listener
    this.#uplink = uplink

    this.#endpoint = bestCandidate(options.iceCandidates)
    this.ice = new IceClient(options.iceParameters, (packet) => this.#path?.send(packet))
    this.#handshake = new DtlsHandshake(certificate, options.dtlsParameters, (packet) => this.#path?.send(packet))
    this.#ended.promise.catch(() => undefined)
    const { ice } = this
    this.#checks = {
      get dueAt() {
        return ice.dueAt
      },
      run: (now: number) => ice.check(now),
    }
  }

  /** Opens the socket and runs ICE. Repeated calls return the same promise, which rejects after `close`. */
  open(): Promise<void> {
    return (this.#opened ??= this.#withTimeout(
      CONNECT_TIMEOUT_MS,
      'no answer to connectivity checks',
      this.#findPath(),
    ))
  }

  /** Runs DTLS after ICE; the server must already know the fingerprint of this side. */
  connect(): Promise<void> {
    return (this.#connected ??= this.open().then(() =>
      this.#withTimeout(CONNECT_TIMEOUT_MS, 'no DTLS handshake', this.#shakeHands()),
    ))
  }

  get sendKeys(): SrtpKeys | undefined {
    return this.#keys?.sendRtp
  }

  /** Sends an encrypted packet; see {@link UdpPath.send} for its buffer. */
  sendProtected(packet: Buffer): void {
    this.packetsSent++
    if (!this.#isLost()) this.#path?.send(packet)
  }

  get isFlushed(): boolean {
    return this.#path?.isFlushed ?? true
  }

  /** Losses are spread evenly, so that a short measurement finds the exact rate. */
  #isLost(): boolean {
    if (!this.#uplink) return false
    this.#toLose += this.#uplink.lossRate
    if (this.#toLose < 1) return false
    this.#toLose -= 1
    return true
  }

  sendRtcp(compound: Buffer): void {
    if (!this.#keys) return
    this.packetsSent++
    this.#path?.send(this.#keys.rtcp.encrypt(compound))
  }

  /** Restarts ICE with new credentials; `newPort` uses another port, like a client that has changed its network. */
  async restartIce(remote: IceParameters, { newPort = false } = {}): Promise<void> {
    const old = this.#path
    if (newPort) this.#path = await UdpPath.open(this.#endpoint, this.#onPacket)
    this.ice.restart(remote)
    this.ice.check(performance.now())
    await this.#withTimeout(
      CONNECT_TIMEOUT_MS,
      'no answer to connectivity checks after the restart',
      this.ice.connected,
    )
    if (newPort) old?.close()
  }

  get figures(): TransportFigures {
    return {
      localPort: this.#path?.localPort ?? 0,
      packetsSent: this.packetsSent,
      packetsReceived: this.packetsReceived,
      strays: this.strays,
      iceAnswers: this.ice.answers,
      refusedSends: this.#path?.refused ?? 0,
    }
  }

  close(): void {
    this.#closed = true
    this.#ended.reject(new Error('the transport was closed'))
    pacer.remove(this.#checks)
    this.#handshake.close()
    this.#path?.close()
  }

  async #findPath(): Promise<void> {
    const path = await UdpPath.open(this.#endpoint, this.#onPacket)
    if (this.#closed) return path.close()
    this.#path = path
    this.ice.check(performance.now())
    pacer.add(this.#checks)
    await this.ice.connected
  }

  async #shakeHands(): Promise<void> {
    this.#keys = await this.#handshake.run()
  }

  /** Rejects when the transport is closed, or when `work` takes longer than `ms`. */
  async #withTimeout(ms: number, failure: string, work: Promise<void>): Promise<void> {
    const { address, port } = this.#endpoint
    const expired = Promise.withResolvers<never>()
    const timer = setTimeout(() => expired.reject(new Error(`${failure} from ${address}:${port} within ${ms} ms`)), ms)
    try {
      await Promise.race([work, expired.promise, this.#ended.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Demultiplexes by the first byte (RFC 7983): 0 to 3 STUN, 20 to 63 DTLS, 128 to 191 RTP and RTCP. */
  #receive(packet: Buffer): void {
    this.packetsReceived++
    const first = packet[0] ?? 255
    if (first >= 128 && first < 192) this.#receiveMedia(packet)
    else if (first < 4) this.ice.receive(packet, performance.now())
    else if (first >= 20 && first < 64) this.#handshake.receive(packet)
    else this.strays++
  }

  #receiveMedia(packet: Buffer): void {
    if (!this.#keys || packet.length < 12) {
      this.strays++
      return
    }
    const type = packet[1] ?? 0
    if (type >= FIRST_RTCP_TYPE && type <= LAST_RTCP_TYPE) return this.#receiveRtcp(packet, this.#keys)
    const headerLength = rtpHeaderLength(packet)
    if (headerLength < packet.length) this.#listener.onRtp?.(packet, headerLength, this.#keys.receiveRtp)
    else this.strays++
  }

  #receiveRtcp(packet: Buffer, keys: MediaKeys): void {
    let plain: Buffer
    try {
      plain = keys.rtcp.decrypt(packet)
    } catch {
      this.strays++
      return
    }
    readRtcp(plain, this.#listener)
  }
}
