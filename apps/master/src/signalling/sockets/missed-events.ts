import type { SessionSnapshot } from '@session-service/contract'
import type { ClientNotification } from './socket-dialect.js'

/**
 * The notifications that report changes which the snapshot does not contain, of those held while it was read. A stream
 * ends and begins again under the same id when its publisher rejoins: either both events are in the snapshot, or the
 * client needs both.
 */
export function missedAfter<Held extends { readonly notification: ClientNotification }>(
  snapshot: SessionSnapshot,
  held: readonly Held[],
): Held[] {
  const streams = new Map(snapshot.streams.map(({ streamId, createdAt }) => [streamId, createdAt]))
  const known = held.map(({ notification: { method, params } }) => {
    return method === 'streamCreated' && streams.get(params.streamId) === params.createdAt ? params.streamId : undefined
  })
  return held.filter(({ notification }, at) => {
    const { method, params } = notification
    switch (method) {
      case 'connectionCreated':
        return !snapshot.connections.some(({ connectionId }) => connectionId === params.connectionId)
      case 'streamCreated':
        return known.lastIndexOf(params.streamId) < at && params.createdAt > (streams.get(params.streamId) ?? -Infinity)
      case 'streamDestroyed':
        // A client ignores the end of a stream that it does not know.
        return known.lastIndexOf(params.streamId) < at
      case 'mediaLost':
        return params.mediaEpoch > snapshot.mediaEpoch
      default:
        return true
    }
  })
}
