import type { Clock } from '../platform/clock.js'
import type { ExceptionName, SessionEvents, SessionOrigin } from './events.js'
import type { PendingStreams } from './pending-streams.js'
import type { Call } from '../media/engine.js'
import type { MediaConnection } from '../media/media-connection.js'
import type { Publisher } from './publisher.js'
import type { RosterChange } from '../signalling/notification.js'
import type { Stream } from './stream.js'
import type { Subscriber } from './subscriber.js'

/** Tells the application. */
export type Emit = <K extends keyof SessionEvents>(name: K, event: SessionEvents[K]) => void

/** What a session lends to its publishers and subscribers. */
export interface SessionContext {
  readonly media: MediaConnection
  /** Of all streams, the own ones too. */
  readonly pendingStreams: PendingStreams
  readonly call: Call
  readonly clock: Clock
  /** Whether the server wants cameras in three sizes. */
  readonly simulcast: boolean
  /** 0 = unconstrained. */
  readonly maxSendKbps: number
  readonly minSendKbps: number
  /** By id of an own stream, the lowest maximum of its receivers, kbps; absent or 0 = none. */
  readonly receiverLimits: Map<string, number>
  /** By stream id, what is published. */
  readonly publishers: Map<string, Publisher>
  readonly subscribers: Map<string, Subscriber>
  readonly ownConnectionId: string
  exception(name: ExceptionName, message: string, origin: SessionOrigin): void
  /** Makes a change of one's own known here, as the server makes it known to the others. */
  changed(change: RosterChange): void
  stream(streamId: string): Stream | undefined
}
