import type { SignallingParams } from '@session-service/contract'
import type { PublicationStats } from '../tracks/publication.js'

export interface JoinOptions {
  clientData?: string
  platform?: string
  /**
   * Receives as if over a link of so many kbps: the server is told arrival times and losses of such a link, and chooses
   * simulcast layers by that. Without it, the link is as fast as it is.
   */
  capacityKbps?: number
  /** Whether it comes back by itself when the session's media was lost, as the client library does; default true. */
  rejoins?: boolean
}

/** A stream this participant publishes. */
export interface PublishedStream {
  readonly streamId: string
  readonly createdAt: number
  /** Brightness of its picture, 0 to 255. */
  readonly luma: number
  stats(): PublicationStats
}

export type ChangeStream = Omit<SignallingParams<'changeStream'>, 'streamId' | 'reason'> &
  Partial<Pick<SignallingParams<'changeStream'>, 'reason'>>
export type ChangeSubscription = Omit<SignallingParams<'changeSubscription'>, 'streamId'>
