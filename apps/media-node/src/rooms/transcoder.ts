import type { PublishedTrack } from '../tracks/published-track.js'
import type { Peer } from './peer.js'
import type { Release } from '../tracks/release.js'
import type { Stream } from './stream.js'
import type { VideoCodec } from './target-codec.js'

/** `small`: for a subscriber whose network or limit does not take the published video. */
export type Quality = 'full' | 'small'

/** The bitrate of a small video, kbps. */
export const SMALL_KBPS = 500

/** A video of a stream for one subscription. */
export interface VideoToTranscode {
  stream: Stream
  video: PublishedTrack
  codec: VideoCodec
  quality: Quality
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
  /** Subscriptions share the track of a video, codec and quality. @throws ServiceError NO_CAPACITY */
  acquire(wanted: VideoToTranscode): Promise<TrackInUse>
  /** Whether the video can be acquired now. */
  hasCapacity(wanted: Pick<VideoToTranscode, 'stream' | 'quality'>): boolean
}

/** Decides which subscribers of a camera receive a smaller video. */
export interface QualityControl {
  qualityOf(stream: Stream, peer: Peer): Quality
  /** The node had no capacity for the small video: the subscriber receives the original. */
  refused(stream: Stream, peer: Peer): void
  /** The small video fails again and again: its subscribers have to receive the original. */
  failed(stream: Stream): void
}
