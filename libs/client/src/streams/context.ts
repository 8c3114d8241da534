import type { Clock } from '../platform/clock.js'
import type { ExceptionName, SessionEvents, SessionOrigin } from './events.js'
import type { Experience } from './experience.js'
import type { PendingPublications } from './pending-publications.js'
import type { PendingStreams } from './pending-streams.js'
import type { Call } from '../media/engine.js'
import type { MediaConnection } from '../media/media-connection.js'
import type { Publisher } from './publisher.js'
import type { RosterChange } from '../signalling/notification.js'
import type { Stream } from './stream.js'
import type { Subscriber } from './subscriber.js'

/** The time of two round trips. Where they are shorter, an additional request costs more than it saves. */
export const DISTANT_SOCKET_MS = 40

/** Emits an event to the application. */
export type Emit = <K extends keyof SessionEvents>(name: K, event: SessionEvents[K]) => void

/** The parts of a session that its publishers and subscribers use. */
export interface SessionContext {
  readonly media: MediaConnection
  /** Covers all streams, including own streams. */
  readonly pendingStreams: PendingStreams
  readonly pendingPublications: PendingPublications
  readonly call: Call
  readonly clock: Clock
  /** Whether a round trip to the server takes longer than the work of a browser that it could overlap. */
  readonly isDistant: boolean
  /** Whether the server requests simulcast for cameras. */
  readonly simulcast: boolean
  /** 0 = unconstrained. */
  readonly maxSendKbps: number
  readonly minSendKbps: number
  /** The lowest maximum of the receivers of each own stream, kbps, by stream id; absent or 0 = no limit. */
  readonly receiverLimits: Map<string, number>
  /** Own publishers by stream id. */
  readonly publishers: Map<string, Publisher>
  readonly subscribers: Map<string, Subscriber>
  readonly ownConnectionId: string
  readonly experience: Experience
  exception(name: ExceptionName, message: string, origin: SessionOrigin): void
  /** Applies an own change locally, as the server's notification does for the other participants. */
  changed(change: RosterChange): void
  stream(streamId: string): Stream | undefined
}
