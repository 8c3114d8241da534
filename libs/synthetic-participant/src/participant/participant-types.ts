import type { SignallingParams } from '@session-service/contract'
import type { Uplink } from '../transport/media-transport.js'
import type { PublicationStats } from '../tracks/publication.js'

export interface JoinOptions {
  clientData?: string
  platform?: string
  /**
   * Simulates a receiving link of this capacity: the feedback to the server contains the arrival times and losses of such a
   * link, which determine its simulcast layers. Default: the real link.
   */
  capacityKbps?: number
  /** Its sending link, which may change at any time. Default: the real link. */
  uplink?: Uplink
  /** The codecs that it receives; default VP8 alone. It always sends VP8. */
  videoCodecs?: readonly ('VP8' | 'H264')[]
  /** Whether it rejoins automatically after a loss of the session's media, like the client library; default true. */
  rejoins?: boolean
}

export type LinkOptions = Pick<JoinOptions, 'capacityKbps' | 'videoCodecs' | 'uplink'>

/** A stream this participant publishes. */
export interface PublishedStream {
  readonly streamId: string
  readonly createdAt: number
  /** The brightness of its video, 0 to 255. */
  readonly luma: number
  stats(): PublicationStats
}

export type ChangeStream = Omit<SignallingParams<'changeStream'>, 'streamId' | 'reason'> &
  Partial<Pick<SignallingParams<'changeStream'>, 'reason'>>
export type ChangeSubscription = Omit<SignallingParams<'changeSubscription'>, 'streamId'>
