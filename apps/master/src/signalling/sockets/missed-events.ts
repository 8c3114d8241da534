import type { NotificationParams, SessionNotification, SessionSnapshot } from '@session-service/contract'

/** What a socket is told of its session while it may be waiting for a snapshot. */
export type HeldNotification =
  | SessionNotification
  | { method: 'mediaLost'; params: NotificationParams<'mediaLost'> }
  | { method: 'sendLimitChanged'; params: NotificationParams<'sendLimitChanged'> }

/**
 * Whether a notification that arrived while a snapshot was being read tells anything that is not in it.
 * Removals are always told: whoever does not know what is removed ignores them.
 */
export function isNewsAfter(snapshot: SessionSnapshot, { method, params }: HeldNotification): boolean {
  switch (method) {
    case 'connectionCreated':
      return !snapshot.connections.some(({ connectionId }) => connectionId === params.connectionId)
    case 'streamCreated':
      return !snapshot.streams.some(({ streamId }) => streamId === params.streamId)
    case 'mediaLost':
      return params.mediaEpoch > snapshot.mediaEpoch
    default:
      return true
  }
}
