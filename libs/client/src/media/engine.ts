import {
  type DtlsParameters,
  type IceServerView,
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

type Transport = types.Transport
type Producer = types.Producer
type Consumer = types.Consumer

export type Call = <M extends SignallingMethod>(method: M, params: SignallingParams<M>) => Promise<SignallingResult<M>>

export interface EngineOptions {
  /** The application's own, before the server's list. */
  readonly iceServers?: RTCIceServer[]
  readonly rtcConfiguration?: RTCConfiguration
  readonly clock: Clock
  readonly call: Call
  readonly exception: (name: Parameters<IceRecoveryHandlers['exception']>[0], direction: TransportDirection) => void
}

/** What one track is sent as. */
export interface TrackToSend {
  readonly track: MediaStreamTrack
  readonly encodings?: Encoding[]
  readonly startKbps?: number
  /** What the encoder is asked not to go below. */
  readonly minKbps?: number
}

/** Local ends of a publication that the server has not been told of yet. */
export interface Offer {
  readonly producers: Producer[]
  readonly tracks: PublishedTrack[]
  /** With the first publication; given again until `accepted`. */
  readonly dtlsParameters?: DtlsParameters
}

const fromServer = ({ url, username, credential }: IceServerView): RTCIceServer => ({
  urls: url,
  ...(username !== undefined && { username }),
  ...(credential !== undefined && { credential }),
})

/** The client's own `iceServers`, else those of its `rtcConfiguration`, else the server's. */
export const chooseIceServers = (
  own: RTCIceServer[] | undefined,
  configured: RTCIceServer[] | undefined,
  server: IceServerView[],
): RTCIceServer[] => own ?? configured ?? server.map(fromServer)

/** Where the media of a participant is to be, as the server says. */
export type MediaLocation = Omit<RejoinResult, 'snapshot'>

/** What the session uses of an engine. */
export type Engine = Pick<MediaEngine, keyof MediaEngine>
export type OpenEngine = (place: MediaLocation, options: EngineOptions) => Promise<Engine>

/** Opens one engine after the other; what the first one needs of the browser is asked for now. Throws DISABLED. */
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

/** Both media transports of a participant on one media node: the only part that touches mediasoup-client. */
export class MediaEngine {
  /** The server's, as it named them last. */
  #iceServers: IceServerView[]
  #sendDtls: DtlsParameters | undefined
  #recvDtls: DtlsParameters | undefined
  /** The server is being told of them, or knows them. */
  #recvConnected: Promise<unknown> | undefined
  /** Made when first needed: what is asked of the server on joining does not wait for peer connections. */
  readonly #transports: Partial<Record<TransportDirection, TransportEntry>> = {}
  readonly #restarts = new Map<TransportDirection, Promise<void>>()
  #closed = false
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
    // The schema has checked them; mediasoup-client's own types only narrow some texts to the values it knows.
    await device.load({ routerRtpCapabilities: place.routerRtpCapabilities as types.RtpCapabilities })
    return new MediaEngine(device, place, options)
  }

  /** Makes the transports that are not there yet. */
  createTransports(): void {
    if (this.#closed) return
    this.#transport('recv')
    this.#transport('send')
  }

  get rtpCapabilities(): RtpCapabilities {
    return this.#device.recvRtpCapabilities as RtpCapabilities
  }

  /** Whether the video that would be sent is of a codec whose simulcast the server takes apart. */
  get canSimulcast(): boolean {
    const codec = this.#device.sendRtpCapabilities.codecs?.find(({ kind }) => kind === 'video')
    return /\/(vp8|h264)$/i.test(codec?.mimeType ?? '')
  }

  /** Makes the local ends of all tracks, or of none. */
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

  /** The server has taken an offer, and with it the parameters of the transport. */
  offerAccepted(offer: Offer): void {
    if (offer.dtlsParameters === this.#sendDtls) this.#sendDtls = undefined
  }

  /** Makes the local ends of all tracks of a stream in one step; `streamId` keeps its sound and picture in time. */
  async consume(tracks: readonly SubscribedTrack[], streamId: string): Promise<Consumer[]> {
    const recv = this.#transport('recv')
    const made = await Promise.allSettled(
      tracks.map(({ id, producerId, kind, rtpParameters }) =>
        recv.consume({ id, producerId, kind, streamId, rtpParameters: rtpParameters as types.RtpParameters }),
      ),
    )
    const consumers = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    try {
      for (const one of made) if (one.status === 'rejected') throw one.reason
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

  /** New ICE on both transports, whatever their state: for a computer that has changed its network. */
  async restartIce(): Promise<void> {
    const directions = Object.keys(this.#transports) as TransportDirection[]
    await Promise.all(directions.map((direction) => this.#restart(direction)))
  }

  async stats(): Promise<Record<TransportDirection, RTCStatsReport>> {
    const [send, recv] = [this.#transport('send').getStats(), this.#transport('recv').getStats()]
    return { send: await send, recv: await recv }
  }

  /** Its node is lost: nothing is sent or asked for any more, but what was received last stays to be seen. */
  retire(): void {
    this.#closed = true
    for (const { ice } of Object.values(this.#transports)) ice.stop()
    this.#transports.send?.transport.close()
  }

  close(): void {
    this.retire()
    this.#transports.recv?.transport.close()
  }

  #produce({ track, encodings, startKbps, minKbps }: TrackToSend): Promise<Producer> {
    return this.#transport('send').produce({
      track,
      // Who opened a track stops it: the publisher does that.
      stopTracks: false,
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

  #transport(direction: TransportDirection): Transport {
    if (this.#closed) throw new ServiceError('CONFLICT', 'these transports are closed')
    const made = this.#transports[direction] ?? this.#createTransport(direction)
    this.#transports[direction] = made
    return made.transport
  }

  #createTransport(direction: TransportDirection): TransportEntry {
    const transport = direction === 'send' ? this.#createSendTransport() : this.#createRecvTransport()
    const ice = new IceRecovery(this.#options.clock, {
      restart: () => this.#restart(direction),
      exception: (name) => this.#options.exception(name, direction),
    })
    transport.on('connectionstatechange', (state) => ice.changed(state))
    return { transport, ice }
  }

  #createSendTransport(): Transport {
    const transport = this.#device.createSendTransport({ ...this.#place.sendTransport, ...this.#configuration() })
    // The answer is given at once so that ICE starts; the server learns the parameters with the `publish` that follows.
    transport.on('connect', ({ dtlsParameters }, done) => {
      this.#sendDtls = dtlsParameters
      done()
    })
    transport.on('produce', (_, done) => done({ id: newSecret(64) }))
    return transport
  }

  #createRecvTransport(): Transport {
    const transport = this.#device.createRecvTransport({ ...this.#place.recvTransport, ...this.#configuration() })
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
    connected.catch(() => (this.#recvConnected = undefined))
    return connected
  }

  /** The parameters are given once only: what the server did not take it is told again. */
  async #requireRecvConnected(): Promise<void> {
    await this.#recvConnected?.catch(() => {})
    // By then the server may have transports of the next engine.
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

  /** One at a time: while there is no socket they would pile up. */
  #restart(direction: TransportDirection): Promise<void> {
    const underWay = this.#restarts.get(direction)
    if (underWay) return underWay
    const restart = this.#restartNow(direction).finally(() => this.#restarts.delete(direction))
    this.#restarts.set(direction, restart)
    return restart
  }

  async #restartNow(direction: TransportDirection): Promise<void> {
    const transport = this.#transport(direction)
    const { iceParameters, iceServers } = await this.#options.call('restartIce', { direction })
    if (transport.closed) return
    if (iceServers) {
      // The credentials from joining may be over by now.
      this.#iceServers = iceServers
      await transport.updateIceServers({ iceServers: this.#chosenIceServers() })
    }
    await transport.restartIce({ iceParameters })
  }
}
