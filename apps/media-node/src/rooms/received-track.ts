import type { ServiceError } from '@session-service/contract'
import { inChildSpan } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { CatchUpReceiver } from '../tracks/catch-up.js'
import { KeyFrameRetry } from '../routers/key-frame-retry.js'
import { traceFirstMedia } from '../tracks/first-media.js'
import type { MediaTransport } from '../tracks/media-transport.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import type { Release } from '../tracks/release.js'
import { mediaError } from '../workers/media-errors.js'
import { decodableTrack } from './decodable-track.js'
import type { Peer } from './peer.js'
import type { Stream } from './stream.js'
import type { Quality } from './transcoder.js'

/** A consumer, and the function that releases its track on the peer's router. */
export interface Received {
  consumer: types.Consumer
  track: PublishedTrack
  /** The forwarded track; another one than `track` where it is transcoded. */
  source: PublishedTrack
  quality: Quality
  release: Release
  catchUp: CatchUpReceiver | undefined
  /** Undefined for audio. */
  keyFrameRetry: KeyFrameRetry | undefined
}

export const isOpen = ({ consumer, track }: Received): boolean => !consumer.closed && !track.producer.closed

export async function changeTrack(
  received: Received,
  wanted: boolean | undefined,
  prefer: () => Promise<void> | undefined,
): Promise<void> {
  const { consumer, keyFrameRetry } = received
  try {
    await Promise.all([prefer(), wanted === true && consumer.resume(), wanted === false && consumer.pause()])
    if (wanted === true) keyFrameRetry?.start()
    if (wanted === false) keyFrameRetry?.stop()
  } catch (error) {
    // The track may have ended meanwhile.
    if (isOpen(received)) throw error
  }
}

export function drop({ consumer, release, catchUp }: Received): void {
  consumer.close()
  catchUp?.close()
  release()
}

/** The parts of a participant and its transport that a consumer needs. */
interface Subscriber {
  peer: Peer
  transport: MediaTransport
  rtpCapabilities: types.RtpCapabilities
  ceiling: number | undefined
  /** Whether its tracks start paused on an unconnected transport too. */
  paused: boolean
}

export async function receive(subscriber: Subscriber, stream: Stream, source: PublishedTrack): Promise<Received> {
  const { peer, transport, rtpCapabilities } = subscriber
  const { track, quality, release: releaseTrack } = await decodableTrack(peer, stream, source, rtpCapabilities)
  let release = releaseTrack
  try {
    const releaseRouter = await track.acquire(peer.roomRouter)
    release = () => {
      releaseRouter()
      releaseTrack()
    }
    const consumer = await consume(subscriber, track)
    const catchUp = track.catchUp?.receive(consumer, transport.transport, () => peer.neededBitrateChanged())
    const keyFrameRetry =
      consumer.kind === 'video' ? KeyFrameRetry.follow(consumer, () => transport.connected) : undefined
    return { consumer, track, source, quality, release, catchUp, keyFrameRetry }
  } catch (error) {
    release()
    throw error
  }
}

/** NO_CAPACITY: the node has no capacity to transcode the track. */
export const isUndecodable = ({ code }: ServiceError): boolean => code === 'INVALID' || code === 'NO_CAPACITY'

/**
 * Created paused on a connected transport: there packets would arrive before the participant's library knows the track. On
 * an unconnected transport no packet can arrive too early, unless the library connects it before it knows the tracks.
 */
async function consume(
  { peer, transport, rtpCapabilities, ceiling, paused }: Subscriber,
  { producer, catchUp }: PublishedTrack,
): Promise<types.Consumer> {
  const spatialLayer = catchUp?.liveLayer ?? ceiling
  try {
    const consumer = await inChildSpan('worker consume', { 'track.kind': producer.kind }, () =>
      transport.transport.consume({
        producerId: producer.id,
        rtpCapabilities,
        paused: paused || transport.connected,
        // Clients with a transport for each subscription show by it which offer they answer.
        ...(!peer.transports.shared && { mid: transport.nextMid() }),
        ...(spatialLayer !== undefined && producer.type === 'simulcast' && { preferredLayers: { spatialLayer } }),
      }),
    )
    traceFirstMedia(consumer, 'received', peer.connectionId)
    return consumer
  } catch (error) {
    throw mediaError(`cannot consume the ${producer.kind} track with these rtpCapabilities`, error, 'INVALID')
  }
}
