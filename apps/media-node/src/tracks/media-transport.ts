import {
  ServiceError,
  type DtlsParameters,
  type IceParameters,
  type TransportDescription,
  type TransportDirection,
  type TransportOptions,
} from '@session-service/contract'
import { inChildSpan } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import { INITIAL_OUTGOING_BPS, type TransportBitrates } from './bandwidth.js'
import type { RoomRouter } from '../routers/room-router.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { mediaError } from '../workers/media-errors.js'

const sameFingerprints = (one: DtlsParameters, other: DtlsParameters): boolean =>
  JSON.stringify(one.fingerprints) === JSON.stringify(other.fingerprints)

/**
 * The candidates with the announced address as it is now. mediasoup has ICE Lite: it uses candidates only to show them,
 * so the sockets of a worker serve transports with different announced addresses.
 */
function announcedCandidates(worker: PoolWorker, { iceCandidates }: types.WebRtcTransport): types.IceCandidate[] {
  const address = worker.announcedAddress()
  if (address === undefined) return iceCandidates
  return iceCandidates.map((candidate) => ({ ...candidate, address, ip: address }))
}

const candidateText = ({ foundation, protocol, priority, address, port, type, tcpType }: types.IceCandidate): string =>
  `candidate:${foundation} 1 ${protocol} ${priority} ${address} ${port} typ ${type}${tcpType ? ` tcptype ${tcpType}` : ''}`

/** The WebRTC transport of one direction of a connection. */
export class MediaTransport {
  #connectedWith: DtlsParameters | undefined
  #bitrates: TransportBitrates = { max: 0, min: 0 }
  #incomingMax = 0
  #mids = 0

  private constructor(
    readonly direction: TransportDirection,
    readonly transport: types.WebRtcTransport,
    private readonly iceCandidates: types.IceCandidate[],
  ) {}

  static async open(roomRouter: RoomRouter, direction: TransportDirection): Promise<MediaTransport> {
    try {
      const transport = await inChildSpan('worker createWebRtcTransport', { direction }, () =>
        roomRouter.router.createWebRtcTransport({
          webRtcServer: roomRouter.worker.webRtcServer,
          enableUdp: true,
          enableTcp: true,
          preferUdp: true,
          initialAvailableOutgoingBitrate: INITIAL_OUTGOING_BPS,
        }),
      )
      return new MediaTransport(direction, transport, announcedCandidates(roomRouter.worker, transport))
    } catch (error) {
      throw mediaError(`the ${direction} transport was not opened`, error)
    }
  }

  /** Whether the participant's DTLS parameters are set: the handshake can start or has run. */
  get connected(): boolean {
    return this.#connectedWith !== undefined
  }

  /** A `mid` of at most 8 characters that tracks of no other transport have. */
  nextMid(): string {
    return `${this.transport.id.slice(0, 5)}${this.#mids++}`
  }

  /** The protocol of the selected candidates; undefined while none are. */
  get protocol(): types.TransportProtocol | undefined {
    return this.transport.iceSelectedTuple?.protocol
  }

  get options(): TransportOptions {
    const { id, iceParameters, dtlsParameters } = this.transport
    const { iceCandidates } = this
    return { id, iceParameters, iceCandidates, dtlsParameters }
  }

  /** For operators; candidates as in SDP, and those in use once it is connected. */
  describe(): TransportDescription {
    const { id, iceSelectedTuple: tuple } = this.transport
    const own =
      tuple && this.iceCandidates.find(({ port, protocol }) => port === tuple.localPort && protocol === tuple.protocol)
    const remote = tuple?.remoteIp !== undefined && tuple.remotePort !== undefined
    return {
      id,
      candidates: this.iceCandidates.map(candidateText),
      localCandidate: own ? candidateText(own) : null,
      remoteCandidate: remote
        ? `candidate:client 1 ${tuple.protocol} 0 ${tuple.remoteIp} ${tuple.remotePort} typ prflx`
        : null,
    }
  }

  /** Idempotent for the same parameters. @throws ServiceError CONFLICT for others */
  async connect(dtlsParameters: DtlsParameters): Promise<void> {
    if (this.#connectedWith) {
      if (sameFingerprints(this.#connectedWith, dtlsParameters)) return
      throw new ServiceError('CONFLICT', `the ${this.direction} transport is connected with other dtlsParameters`)
    }
    try {
      await inChildSpan('worker connect', { direction: this.direction }, () =>
        this.transport.connect({ dtlsParameters }),
      )
    } catch (error) {
      throw mediaError(`dtlsParameters of the ${this.direction} transport`, error, 'INVALID')
    }
    this.#connectedWith = dtlsParameters
  }

  async restartIce(): Promise<IceParameters> {
    try {
      return await this.transport.restartIce()
    } catch (error) {
      throw mediaError(`the ${this.direction} transport could not restart ICE`, error)
    }
  }

  /** Limits the sending bitrate of the participant, bps; 0 = unlimited. */
  async limitIncoming(max: number): Promise<void> {
    if (max === this.#incomingMax || this.transport.closed) return
    this.#incomingMax = max
    await this.transport.setMaxIncomingBitrate(max)
  }

  /** Limits the bitrates sent to the participant. mediasoup rejects a minimum above the maximum at any time. */
  async limitOutgoing(wanted: TransportBitrates): Promise<void> {
    const { max, min } = this.#bitrates
    if ((wanted.max === max && wanted.min === min) || this.transport.closed) return
    this.#bitrates = wanted
    const minFirst = wanted.max !== 0 && wanted.max < min
    const setMin = (): Promise<void> => this.transport.setMinOutgoingBitrate(wanted.min)
    const setMax = (): Promise<void> => this.transport.setMaxOutgoingBitrate(wanted.max)
    // The worker processes requests in order, so both can be sent at once.
    await Promise.all(minFirst ? [setMin(), setMax()] : [setMax(), setMin()])
  }

  close(): void {
    this.transport.close()
  }
}
