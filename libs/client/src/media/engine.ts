import {
  type DtlsParameters,
  type ClientIceServer,
  type MediaKind,
  type PublishedTrack,
  type RtpCapabilities,
  ServiceError,
  type SignallingMethod,
  type SignallingParams,
  type SignallingResult,
  type SubscribedTrack,
  type TransportDirection,
  newSecret,
} from '@session-service/contract'
import type { Device, types } from 'mediasoup-client'
import type { Clock } from '../platform/clock.js'
import type { RejoinResult } from '../signalling/signalling.js'
import { requireWebRtc, warmDevice } from './device.js'
import type { Encoding } from './encodings.js'
import { IceRecovery, type IceRecoveryHandlers } from './ice-recovery.js'
import { openerTrack, withoutOpener } from './opener.js'
import { neverRequestProbation, withoutProbation } from './probation.js'

type Transport = types.Transport
type Producer = types.Producer
type Consumer = types.Consumer

export type Call = <M extends SignallingMethod>(method: M, params: SignallingParams<M>) => Promise<SignallingResult<M>>

export interface EngineOptions {
  /** The application's servers, which replace the server's list. */
  readonly iceServers?: RTCIceServer[]
  readonly rtcConfiguration?: RTCConfiguration
  readonly clock: Clock
  readonly call: Call
  readonly stateChanged: (state: RTCPeerConnectionState) => void
  readonly exception: (name: Parameters<IceRecoveryHandlers['exception']>[0], direction: TransportDirection) => void
}

/** A track and its encodings. */
export interface TrackToSend {
  readonly track: MediaStreamTrack
  readonly encodings?: Encoding[]
  readonly startKbps?: number
  /** The minimum bit rate that the encoder should keep. */
  readonly minKbps?: number
}

/** The producers of a publication that has not been sent to the server yet. */
export interface Offer {
  readonly producers: Producer[]
  readonly tracks: PublishedTrack[]
  /** Part of each offer until the server accepts one. */
  readonly dtlsParameters?: DtlsParameters
}

const fromServer = ({ url, username, credential }: ClientIceServer): RTCIceServer => ({
  urls: url,
  ...(username !== undefined && { username }),
  ...(credential !== undefined && { credential }),
})

/** Chooses the application's `iceServers`, else those of its `rtcConfiguration`, else the server's. */
export const chooseIceServers = (
  own: RTCIceServer[] | undefined,
  configured: RTCIceServer[] | undefined,
  server: ClientIceServer[],
): RTCIceServer[] => own ?? configured ?? server.map(fromServer)

/** The transport parameters of the media node that the server selected. */
export type MediaLocation = Omit<RejoinResult, 'snapshot'>

/** The public interface of `MediaEngine`, which tests replace by a stub. */
export type Engine = Pick<MediaEngine, keyof MediaEngine>
export type OpenEngine = (place: MediaLocation, options: EngineOptions) => Promise<Engine>

/** Returns a factory of engines and queries the browser's capabilities for the first one now. Throws DISABLED. */
export function engineOpener(): OpenEngine {
  const webRtc = requireWebRtc()
  let warm: Device | undefined = warmDevice(webRtc)
  return (place, options) => {
    const device = warm ?? warmDevice(webRtc)
    warm = undefined
    return MediaEngine.open(device, place, options)
  }
}

interface TransportEntry {
  readonly transport: Transport
  readonly ice: IceRecovery
}

/** Both media transports of a participant on one media node, made with mediasoup-client. */
export class MediaEngine {
  /** The server's latest list. */
  #iceServers: ClientIceServer[]
  #sendDtls: DtlsParameters | undefined
  #recvDtls: DtlsParameters | undefined
  /** The request that sends `#recvDtls` to the server. */
  #recvConnected: Promise<unknown> | undefined
  #isRecvOpening = false
  /** Created on first use, so that the first requests after joining do not wait for peer connections. */
  readonly #transports: Partial<Record<TransportDirection, TransportEntry>> = {}
  readonly #restarts = new Map<TransportDirection, Promise<void>>()
  #closed = false
  /** Rejects the pending calls of `consume`. */
  readonly #onClose = new Set<() => void>()
  readonly #device: Device
  readonly #place: MediaLocation
  readonly #options: EngineOptions

  private constructor(device: Device, place: MediaLocation, options: EngineOptions) {
    this.#device = device
    this.#place = place
    this.#options = options
    this.#iceServers = place.iceServers
  }

  static async open(device: Device, place: MediaLocation, options: EngineOptions): Promise<MediaEngine> {
    // The schema has validated them; the types of mediasoup-client only narrow some strings to known values.
    await device.load({ routerRtpCapabilities: place.routerRtpCapabilities as types.RtpCapabilities })
    return new MediaEngine(device, place, options)
  }

  /** Creates the missing transports. */
  createTransports(): void {
    if (this.#closed) return
    this.#transport('recv')
    this.#transport('send')
  }

  /**
   * Starts ICE and DTLS of the receiving transport, while the application's first `subscribe` is on its way. The server
   * must send the tracks of that call paused.
   */
  openRecv(): void {
    if (this.#closed || this.#isRecvOpening) return
    this.#isRecvOpening = true
    const opener = openerTrack(this.#device.recvRtpCapabilities)
    if (!opener) return
    // When it fails, the first track of a stream opens the transport.
    this.#transport('recv')
      .consume(opener)
      .catch(() => {})
  }

  get rtpCapabilities(): RtpCapabilities {
    return this.#device.recvRtpCapabilities as RtpCapabilities
  }

  /** Whether the server supports simulcast of the preferred video codec. */
  get canSimulcast(): boolean {
    const codec = this.#device.sendRtpCapabilities.codecs?.find(({ kind }) => kind === 'video')
    return /\/(vp8|h264)$/i.test(codec?.mimeType ?? '')
  }

  /** Creates the producers of all tracks, or of none. */
  async offer(tracks: readonly TrackToSend[]): Promise<Offer> {
    const producers: Producer[] = []
    try {
      for (const track of tracks) producers.push(await this.#produce(track))
    } catch (error) {
      for (const producer of producers) producer.close()
      throw error
    }
    const published = producers.map(({ kind, rtpParameters }) => ({ kind, rtpParameters }) as PublishedTrack)
    return { producers, tracks: published, ...(this.#sendDtls && { dtlsParameters: this.#sendDtls }) }
  }

  /** The server accepted an offer, and with it the DTLS parameters of the transport. */
  offerAccepted(offer: Offer): void {
    if (!offer.dtlsParameters || offer.dtlsParameters !== this.#sendDtls) return
    this.#sendDtls = undefined
    this.#transports.send?.ice.opened()
  }

  /**
   * Creates the consumers of all tracks of a stream in one step; the common `streamId` synchronizes audio and video. Rejects
   * with UNAVAILABLE when the engine is closed: a browser does not settle the steps of a closed peer connection.
   */
  consume(tracks: readonly SubscribedTrack[], streamId: string): Promise<Consumer[]> {
    return new Promise((resolve, reject) => {
      const closed = (): void => reject(new ServiceError('UNAVAILABLE', 'the transports were closed'))
      this.#onClose.add(closed)
      void this.#consume(tracks, streamId)
        .then(resolve, reject)
        .finally(() => this.#onClose.delete(closed))
    })
  }

  async #consume(tracks: readonly SubscribedTrack[], streamId: string): Promise<Consumer[]> {
    const recv = this.#transport('recv')
    const outcomes = await Promise.allSettled(
      tracks.map(({ id, producerId, kind, rtpParameters }) =>
        recv.consume({ id, producerId, kind, streamId, rtpParameters: rtpParameters as types.RtpParameters }),
      ),
    )
    const consumers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    try {
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
      await this.#requireRecvConnected()
      return consumers
    } catch (error) {
      for (const consumer of consumers) consumer.close()
      throw error
    }
  }

  signallingResumed(): void {
    for (const { ice } of Object.values(this.#transports)) ice.signallingResumed()
  }

  /** Restarts ICE on all transports in any state, for example after the computer has changed its network. */
  async restartIce(): Promise<void> {
    const directions = Object.keys(this.#transports) as TransportDirection[]
    await Promise.all(directions.map((direction) => this.#restart(direction)))
  }

  async stats(): Promise<Record<TransportDirection, RTCStatsReport>> {
    const [send, recv] = [this.#transport('send').getStats(), this.#transport('recv').getStats()]
    return { send: await send, recv: withoutOpener(withoutProbation(await recv)) }
  }

  /** The node is lost: stops sending and ICE restarts, but the last received video frame stays visible. */
  retire(): void {
    this.#closed = true
    for (const { ice } of Object.values(this.#transports)) ice.stop()
    this.#transports.send?.transport.close()
  }

  close(): void {
    for (const closed of this.#onClose) closed()
    this.retire()
    this.#transports.recv?.transport.close()
  }

  async #produce({ track, encodings, startKbps, minKbps }: TrackToSend): Promise<Producer> {
    this.#requireCodec(track.kind === 'audio' ? 'audio' : 'video')
    return this.#transport('send').produce({
      track,
      // The publisher stops the tracks that it opened.
      stopTracks: false,
      // The publisher mutes them: mediasoup-client would enable each new track.
      disableTrackOnPause: false,
      ...(encodings && { encodings }),
      codecOptions:
        track.kind === 'audio'
          ? { opusDtx: true, opusFec: true }
          : {
              ...(startKbps && { videoGoogleStartBitrate: startKbps }),
              ...(minKbps && { videoGoogleMinBitrate: minKbps }),
            },
    })
  }

  /** mediasoup-client sends the server's first codec that the browser has; the session's codec is the first. */
  #requireCodec(kind: MediaKind): void {
    if (this.#device.canProduce(kind)) return
    const { codecs } = this.#place.routerRtpCapabilities
    const names = codecs.filter((codec) => codec.kind === kind && !/\/rtx$/i.test(codec.mimeType))
    const offered = names.map(({ mimeType }) => mimeType.slice(mimeType.indexOf('/') + 1)).join(', ')
    throw new ServiceError(
      'CODEC_REFUSED',
      `this browser can send none of the ${kind} codecs of the session: ${offered}`,
    )
  }

  #transport(direction: TransportDirection): Transport {
    if (this.#closed) throw new ServiceError('CONFLICT', 'the transports are closed')
    const entry = this.#transports[direction] ?? this.#createTransport(direction)
    this.#transports[direction] = entry
    return entry.transport
  }

  #createTransport(direction: TransportDirection): TransportEntry {
    const transport = direction === 'send' ? this.#createSendTransport() : this.#createRecvTransport()
    const ice = new IceRecovery(this.#options.clock, {
      restart: () => this.#restart(direction),
      exception: (name) => this.#options.exception(name, direction),
    })
    transport.on('connectionstatechange', (state) => {
      this.#options.stateChanged(state)
      ice.changed(state)
    })
    return { transport, ice }
  }

  #createSendTransport(): Transport {
    const transport = this.#device.createSendTransport({ ...this.#place.sendTransport, ...this.#configuration() })
    // Accepts at once so that ICE starts; the following `publish` sends the parameters to the server.
    transport.on('connect', ({ dtlsParameters }, done) => {
      this.#sendDtls = dtlsParameters
      done()
    })
    transport.on('produce', (_, done) => done({ id: newSecret(64) }))
    return transport
  }

  #createRecvTransport(): Transport {
    const transport = this.#device.createRecvTransport({ ...this.#place.recvTransport, ...this.#configuration() })
    neverRequestProbation(transport)
    transport.on('connect', ({ dtlsParameters }, done) => {
      this.#recvDtls = dtlsParameters
      void this.#connectRecv(dtlsParameters)
      done()
    })
    return transport
  }

  #connectRecv(dtlsParameters: DtlsParameters): Promise<unknown> {
    const connected = this.#options.call('connectTransport', { direction: 'recv', dtlsParameters })
    this.#recvConnected = connected
    connected.then(
      () => this.#transports.recv?.ice.opened(),
      () => (this.#recvConnected = undefined),
    )
    return connected
  }

  /** mediasoup-client emits the parameters only once, so a failed request is repeated here. */
  async #requireRecvConnected(): Promise<void> {
    await this.#recvConnected?.catch(() => {})
    // The server may already have the transports of the next engine.
    if (!this.#recvDtls || this.#closed) return
    await (this.#recvConnected ?? this.#connectRecv(this.#recvDtls))
  }

  #configuration() {
    const { iceServers: _, iceTransportPolicy, ...additionalSettings } = this.#options.rtcConfiguration ?? {}
    return {
      iceServers: this.#chosenIceServers(),
      additionalSettings,
      ...(iceTransportPolicy && { iceTransportPolicy }),
    }
  }

  #chosenIceServers(): RTCIceServer[] {
    const { iceServers, rtcConfiguration } = this.#options
    return chooseIceServers(iceServers, rtcConfiguration?.iceServers, this.#iceServers)
  }

  /** Shares a pending restart: without a socket the requests would accumulate. */
  #restart(direction: TransportDirection): Promise<void> {
    const pending = this.#restarts.get(direction)
    if (pending) return pending
    const restart = this.#restartNow(direction).finally(() => this.#restarts.delete(direction))
    this.#restarts.set(direction, restart)
    return restart
  }

  async #restartNow(direction: TransportDirection): Promise<void> {
    const transport = this.#transport(direction)
    const { iceParameters, iceServers } = await this.#options.call('restartIce', { direction })
    if (transport.closed) return
    if (iceServers) {
      // The credentials from joining may have expired.
      this.#iceServers = iceServers
      await transport.updateIceServers({ iceServers: this.#chosenIceServers() })
    }
    await transport.restartIce({ iceParameters })
  }
}
