import { createHash } from 'node:crypto'
import type {
  BackendEvent,
  HistoryConnectionView,
  HistoryMediaView,
  HistoryQualityView,
  HistoryRecordingView,
  HistorySessionDetailsView,
  HistoryUserView,
} from '@session-service/contract'
import type { HistoryRecord } from '../event-drafts.js'

export type SessionSummary = Omit<HistorySessionDetailsView, 'object'>
type RecordOf<N extends HistoryRecord['name']> = Extract<HistoryRecord, { name: N }>['payload']

/** The number of digits of a user's id. */
const USER_ID_LENGTH = 16

/** The summary of a session from its records, in their order; undefined without the record of its end. */
export function summarize(records: readonly HistoryRecord[]): SessionSummary | undefined {
  const end = payloadsOf(records, 'sessionDestroyed').at(-1)
  if (!end) return undefined
  const start = payloadsOf(records, 'sessionCreated').at(0)
  const users = usersOf(records)
  const recordings = withStatuses([], payloadsOf(records, 'recordingStatusChanged'))
  return {
    id: end.sessionId,
    uniqueSessionId: end.uniqueSessionId,
    customSessionId: start?.customSessionId ?? '',
    ...periodOf(end),
    reason: end.reason,
    mediaMode: start?.mediaMode ?? null,
    recordingMode: start?.recordingMode ?? null,
    mediaNodeId: end.mediaNodeId ?? null,
    numberOfUsers: users.length,
    numberOfConnections: users.reduce((sum, { connections }) => sum + connections.numberOfElements, 0),
    numberOfRecordings: recordings.length,
    users: listOf(users),
    recordings: listOf(recordings),
  }
}

/** The recordings after further changes of their statuses, which may follow the end of the session. */
export function withStatuses(
  recordings: readonly HistoryRecordingView[],
  changes: readonly BackendEvent<'recordingStatusChanged'>[],
): HistoryRecordingView[] {
  const byId = new Map(recordings.map((recording) => [recording.id, recording]))
  for (const { id, name, status, startTime, duration, size, reason } of changes)
    byId.set(id, { id, name, status, startTime, duration, size, ...(reason !== undefined && { reason }) })
  return [...byId.values()]
}

export const listOf = <T>(content: T[]): { numberOfElements: number; content: T[] } => ({
  numberOfElements: content.length,
  content,
})

const payloadsOf = <N extends HistoryRecord['name']>(records: readonly HistoryRecord[], name: N): RecordOf<N>[] =>
  records.filter((record) => record.name === name).map(({ payload }) => payload as RecordOf<N>)

/** Users and connections in the order of their first departure. */
function usersOf(records: readonly HistoryRecord[]): HistoryUserView[] {
  const media = Map.groupBy(payloadsOf(records, 'webrtcConnectionDestroyed'), ({ connectionId }) => connectionId)
  const quality = Map.groupBy(payloadsOf(records, 'networkQualityLevelChanged'), ({ connectionId }) => connectionId)
  const departures = Map.groupBy(payloadsOf(records, 'participantLeft'), userId)
  return [...departures].map(([id, left]) => ({
    id,
    location: left[0]?.location ?? null,
    platform: left[0]?.platform ?? null,
    connections: listOf(
      left.map((each) => connectionOf(each, media.get(each.connectionId) ?? [], quality.get(each.connectionId) ?? [])),
    ),
  }))
}

/** A hash, so that the history needs no addresses. */
const userId = ({ ip, platform }: RecordOf<'participantLeft'>): string =>
  createHash('sha256')
    .update(JSON.stringify([ip, platform]))
    .digest('hex')
    .slice(0, USER_ID_LENGTH)

function connectionOf(
  left: RecordOf<'participantLeft'>,
  media: readonly RecordOf<'webrtcConnectionDestroyed'>[],
  quality: readonly RecordOf<'networkQualityLevelChanged'>[],
): HistoryConnectionView {
  const inDirection = (direction: 'INBOUND' | 'OUTBOUND') =>
    listOf(media.filter(({ connection }) => connection === direction).map(mediaOf))
  return {
    connectionId: left.connectionId,
    ...periodOf(left),
    reason: left.reason,
    clientData: left.clientData,
    serverData: left.serverData,
    publishers: inDirection('OUTBOUND'),
    subscribers: inDirection('INBOUND'),
    networkQuality: listOf(quality.map(qualityOf)),
  }
}

const periodOf = ({ startTime, timestamp, duration }: { startTime: number; timestamp: number; duration: number }) => ({
  createdAt: startTime,
  destroyedAt: timestamp,
  duration,
})

const mediaOf = (ended: RecordOf<'webrtcConnectionDestroyed'>): HistoryMediaView => ({
  streamId: ended.streamId,
  ...periodOf(ended),
  reason: ended.reason,
  ...(ended.receivingFrom !== undefined && { receivingFrom: ended.receivingFrom }),
  ...(ended.videoSource !== undefined && {
    videoSource: ended.videoSource,
    videoFramerate: ended.videoFramerate,
    videoDimensions: ended.videoDimensions,
  }),
  audioEnabled: ended.audioEnabled,
  videoEnabled: ended.videoEnabled,
})

const qualityOf = ({ timestamp, newValue, oldValue }: RecordOf<'networkQualityLevelChanged'>): HistoryQualityView => ({
  timestamp,
  newValue,
  ...(oldValue !== undefined && { oldValue }),
})
