import { type NotificationParams, SIGNALLING_WINDOWS, type SignallingNotification } from '@session-service/contract'
import type { SharedNotification } from './shared-notification.js'

/** A notification of the server with its parameters. */
export type ClientNotification = {
  [N in SignallingNotification]: { method: N; params: NotificationParams<N> }
}[SignallingNotification]

/** Time-outs of a socket, ms after its last frame; `join` after its opening. */
export interface SocketWindows {
  /** Its participant counts as lost. */
  silent: number
  /** Its participant is evicted. */
  evict: number
  /** It is ended without a closing handshake, which a half-open socket never answers. */
  terminate: number
  /** It is closed unless it has joined. */
  join: number
}

/** The behaviour that the clients of one protocol expect of their sockets. */
export interface SocketDialect {
  readonly windows: SocketWindows
  /** How long a client may take to close the socket of a participant that has ended, ms; 0: the server closes it at once. */
  readonly closeDelayMs: number
  /** Whether clients open a new socket as soon as theirs closes: a server that shuts down closes them one by one. */
  readonly reconnectsAtOnce: boolean
  /** A ping of the client has arrived. */
  pinged(): void
  /** The frames of a notification, in order; none when these clients have nothing to do. */
  framesOf(shared: SharedNotification): readonly (string | Buffer)[]
}

/** The protocol of `libs/contract`. */
export const NATIVE: SocketDialect = {
  windows: { ...SIGNALLING_WINDOWS, terminate: SIGNALLING_WINDOWS.evict + SIGNALLING_WINDOWS.silent },
  closeDelayMs: 0,
  reconnectsAtOnce: false,
  pinged: () => undefined,
  framesOf: (shared) => [shared.frame],
}
