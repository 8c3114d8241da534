import { ServiceError, type PublishedTrack as OfferedTrack } from '@session-service/contract'
import { inChildSpan } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import { traceFirstMedia } from '../tracks/first-media.js'
import type { MediaTransport } from '../tracks/media-transport.js'
import { PublishedTrack } from '../tracks/published-track.js'
import type { Release } from '../tracks/release.js'
import { publishable } from '../tracks/rtp.js'
import { mediaError } from '../workers/media-errors.js'
import type { Publisher } from './publisher.js'

/**
 * Browsers answer one key frame request within 300 ms and ignore others, and mediasoup repeats an ignored request only
 * after a second. Requests at this interval are all answered.
 */
const KEY_FRAME_REQUEST_DELAY_MS = 350

/** The transports on which the tracks of a publication arrive. */
export interface Ingress {
  /** The transport of the track of this kind. */
  producing(kind: types.MediaKind): Pick<types.Transport, 'produce'>
  /** The transport of a client. */
  transport?: MediaTransport
  /** Called when the tracks have ended. */
  release?: Release
}

/** Whether the tracks of a kind are sent: others are paused. */
type ActiveKinds = Readonly<Record<types.MediaKind, boolean>>

/** The tracks that the publisher of a stream sends, at most one of a kind, and where they arrive. */
export class PublishedMedia {
  private constructor(
    readonly tracks: readonly PublishedTrack[],
    private readonly ingress: Ingress,
  ) {}

  /** Publishes all tracks or none. It owns the ingress from the call on. */
  static async open(
    publisher: Publisher,
    tracks: readonly OfferedTrack[],
    active: ActiveKinds,
    ingress: Ingress,
  ): Promise<PublishedMedia> {
    try {
      if (new Set(tracks.map(({ kind }) => kind)).size < tracks.length) {
        throw new ServiceError('INVALID', 'tracks: a stream has at most one track of a kind')
      }
      return new PublishedMedia(await produceAll(publisher, tracks, active, ingress), ingress)
    } catch (error) {
      ingress.release?.()
      throw error
    }
  }

  /** Undefined for cameras on the network. */
  get transport(): MediaTransport | undefined {
    return this.ingress.transport
  }

  track(kind: types.MediaKind): PublishedTrack | undefined {
    return this.tracks.find((track) => track.kind === kind)
  }

  /** The declared maximum of each layer of the video, the smallest layer first; undefined = unknown. */
  get layerKbps(): (number | undefined)[] {
    const encodings = this.track('video')?.producer.rtpParameters.encodings ?? []
    return encodings.map(({ maxBitrate }) => (maxBitrate === undefined ? undefined : maxBitrate / 1_000))
  }

  close(): void {
    for (const track of this.tracks) track.close()
    this.ingress.release?.()
  }
}

async function produceAll(
  publisher: Publisher,
  tracks: readonly OfferedTrack[],
  active: ActiveKinds,
  ingress: Ingress,
): Promise<PublishedTrack[]> {
  const produced = await Promise.allSettled(
    tracks.map((track) => produce(publisher, track, !active[track.kind], ingress)),
  )
  const published = produced.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = produced.find((result) => result.status === 'rejected')
  if (!failed) return published
  for (const track of published) track.close()
  throw failed.reason
}

async function produce(
  publisher: Publisher,
  { kind, rtpParameters }: OfferedTrack,
  paused: boolean,
  ingress: Ingress,
): Promise<PublishedTrack> {
  try {
    const producer = await inChildSpan('worker produce', { 'track.kind': kind }, () =>
      ingress.producing(kind).produce({
        kind,
        rtpParameters: publishable(rtpParameters),
        paused,
        ...(kind === 'video' && { keyFrameRequestDelay: KEY_FRAME_REQUEST_DELAY_MS }),
      }),
    )
    traceFirstMedia(producer, 'published', publisher.connectionId)
    return new PublishedTrack(producer, publisher.roomRouter, kind === 'video' ? publisher.catchUp : undefined)
  } catch (error) {
    throw mediaError(`the ${kind} track cannot be published`, error, 'INVALID')
  }
}
