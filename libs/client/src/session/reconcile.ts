import type {
  ConnectionInfo,
  FilterChangeReason,
  MediaOptions,
  StreamChangeReason,
  StreamInfo,
} from '@session-service/contract'
import { dimensionsReason } from '../media/dimensions.js'
import { isSameValue } from '../platform/same-value.js'
import type { RosterSnapshot, RosterChange } from '../signalling/notification.js'
import type { StreamProperty } from '../streams/stream.js'

type Reason = StreamChangeReason | FilterChangeReason

function filterReason({ filter: before }: MediaOptions, { filter: after }: MediaOptions): Reason {
  if (after.type === undefined) return 'removeFilter'
  return before.type === after.type ? 'execFilterMethod' : 'applyFilter'
}

const REASONS: Record<StreamProperty, (before: MediaOptions, after: MediaOptions) => Reason> = {
  audioActive: () => 'publishAudio',
  videoActive: () => 'publishVideo',
  videoDimensions: (before, after) =>
    dimensionsReason(before.videoDimensions, after.videoDimensions, after.typeOfVideo === 'SCREEN'),
  frameRate: () => 'trackReplaced',
  filter: filterReason,
}
const PROPERTIES = Object.keys(REASONS) as StreamProperty[]

/** The property changes between two states of a stream. */
export function streamChanges(before: StreamInfo, after: StreamInfo): RosterChange[] {
  const [old, now] = [before.mediaOptions, after.mediaOptions]
  return PROPERTIES.filter((property) => !isSameValue(old[property] ?? null, now[property] ?? null)).map(
    (property) => ({
      method: 'streamPropertyChanged',
      params: {
        streamId: after.streamId,
        connectionId: after.connectionId,
        changedProperty: property,
        newValue: now[property] ?? null,
        reason: REASONS[property](old, now),
      },
    }),
  )
}

const destroyedStream = ({ streamId, connectionId }: StreamInfo, ownerLeft: boolean): RosterChange => ({
  method: 'streamDestroyed',
  params: { streamId, connectionId, reason: ownerLeft ? 'disconnect' : 'unpublish' },
})

/** The state of a camera on the network has changed. */
function cameraChanges(before: ConnectionInfo | undefined, after: ConnectionInfo): RosterChange[] {
  const { connectionId, cameraStatus: status, cameraError: error = null } = after
  if (!before || !status || (before.cameraStatus === status && (before.cameraError ?? null) === error)) return []
  return [{ method: 'cameraStatusChanged', params: { connectionId, status, error } }]
}

/** The network of a publisher has another quality. */
function qualityChanges(before: ConnectionInfo | undefined, after: ConnectionInfo): RosterChange[] {
  const { connectionId, networkQuality: newValue } = after
  if (!before || newValue === undefined || newValue === before.networkQuality) return []
  return [{ method: 'networkQualityLevelChanged', params: { connectionId, newValue } }]
}

/**
 * The changes between two snapshots of a session, in the server's order: streams end before their connections, and
 * connections appear before their streams. Snapshots contain no reasons, so a stream ends with the most frequent one:
 * `disconnect` when its connection ended, else `unpublish`.
 */
export function reconcile(before: RosterSnapshot, after: RosterSnapshot): RosterChange[] {
  const connectionsNow = new Set(after.connections.map(({ connectionId }) => connectionId))
  const connectionsBefore = new Map(before.connections.map((connection) => [connection.connectionId, connection]))
  const streamsNow = new Map(after.streams.map((stream) => [stream.streamId, stream]))
  const streamsBefore = new Set(before.streams.map(({ streamId }) => streamId))
  const left = before.connections.filter(({ connectionId }) => !connectionsNow.has(connectionId))
  const isNew = (info: ConnectionInfo): boolean => !connectionsBefore.has(info.connectionId)
  return [
    ...before.streams
      .filter(({ streamId }) => !streamsNow.has(streamId))
      .map((stream) => destroyedStream(stream, !connectionsNow.has(stream.connectionId))),
    ...left.map(({ connectionId }): RosterChange => ({
      method: 'connectionDestroyed',
      params: { connectionId, reason: 'disconnect' },
    })),
    ...after.connections.filter(isNew).map((params): RosterChange => ({ method: 'connectionCreated', params })),
    ...after.connections.flatMap((info) => cameraChanges(connectionsBefore.get(info.connectionId), info)),
    ...after.connections.flatMap((info) => qualityChanges(connectionsBefore.get(info.connectionId), info)),
    ...before.streams.flatMap((old) => {
      const now = streamsNow.get(old.streamId)
      return now ? streamChanges(old, now) : []
    }),
    ...after.streams
      .filter(({ streamId }) => !streamsBefore.has(streamId))
      .map((params): RosterChange => ({ method: 'streamCreated', params })),
  ]
}
