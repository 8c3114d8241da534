import type { PublishedTrack } from '../tracks/published-track.js'
import type { Release } from '../tracks/release.js'
import type { Stream } from './stream.js'
import type { VideoCodec } from './target-codec.js'

/** A video of a stream for one subscription. */
export interface VideoToTranscode {
  stream: Stream
  video: PublishedTrack
  codec: VideoCodec
  /** The maximum of the subscriber, kbps; 0 = unconstrained. */
  maxKbps: number
}

/** A track, and the function that ends its use. */
export interface TrackInUse {
  track: PublishedTrack
  release: Release
}

/** Encodes videos of streams in other codecs, for the subscriptions that cannot decode them. */
export interface Transcoder {
  /** Subscriptions share the track of a video and codec. @throws ServiceError NO_CAPACITY */
  acquire(wanted: VideoToTranscode): Promise<TrackInUse>
}
