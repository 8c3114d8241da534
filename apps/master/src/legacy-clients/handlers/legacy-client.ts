import type { RtpCapabilities } from '@session-service/contract'
import type { SharedNotification } from '../../signalling/sockets/shared-notification.js'
import type { ClientNotification, SocketDialect, SocketWindows } from '../../signalling/sockets/socket-dialect.js'
import { legacyNotifications } from '../translation/notifications.js'
import { type LegacyNotification, Roster } from '../translation/roster.js'

/** These clients ping every 5 s, and give up a call without an answer after 10 s. */
const WINDOWS: SocketWindows = {
  silent: 10_000,
  evict: 15_000,
  terminate: 75_000,
  // A page whose join was refused pings on, and opens a new socket whenever the server closes its socket.
  join: 60_000,
}
/** A client that is notified of its end closes the socket itself; it reconnects when the server does. */
const CLOSE_DELAY_MS = 10_000

/** What happens to the media of a participant, and needs an answer of the server. */
export type MediaEvent =
  | { kind: 'lost'; afterMs: number }
  /** The media of a stream was replaced, or its publisher has published it again. */
  | { kind: 'replaced'; streamId: string }

/** What a master knows of a participant with a client of version 2. A new socket takes it over. */
export class LegacyParticipant {
  readonly roster: Roster
  /** The stream that the client publishes. */
  ownStreamId: string | undefined
  /** What its browser can receive; undefined until the room or the client has shown it. */
  rtpCapabilities: RtpCapabilities | undefined
  /** The streams that it receives. */
  readonly subscriptions = new Set<string>()
  onMedia: (event: MediaEvent) => void = () => undefined

  constructor(
    connectionId: string,
    readonly sessionId: string,
  ) {
    this.roster = new Roster(connectionId)
  }

  /** Before the notification changes the roster. */
  observe({ method, params }: ClientNotification): void {
    if (method === 'mediaLost') return this.onMedia({ kind: 'lost', afterMs: params.afterMs })
    if (method === 'subscriptionReplaced') return this.onMedia({ kind: 'replaced', streamId: params.streamId })
    if (method === 'streamCreated' && this.roster.has(params.streamId))
      return this.onMedia({ kind: 'replaced', streamId: params.streamId })
    if (method !== 'streamDestroyed') return
    this.subscriptions.delete(params.streamId)
    if (params.streamId === this.ownStreamId) this.ownStreamId = undefined
  }
}

/** A socket of a client of version 2. */
export class LegacyClient implements SocketDialect {
  readonly windows = WINDOWS
  readonly closeDelayMs = CLOSE_DELAY_MS
  readonly reconnectsAtOnce = true
  /** Set with the answer to `joinRoom` or `connect`. */
  participant: LegacyParticipant | undefined
  isJoining = false

  /** @param serverStopped the name of the reason `serviceServerStopped` */
  constructor(private readonly serverStopped: string) {}

  framesOf({ notification }: SharedNotification): string[] {
    const { participant, serverStopped } = this
    if (!participant) return []
    participant.observe(notification)
    const { roster, sessionId } = participant
    return legacyNotifications(notification, roster, { sessionId, serverStopped }).map(legacyFrame)
  }
}

export const legacyFrame = ({ method, params }: LegacyNotification): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params })
