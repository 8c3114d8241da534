import type {
  Heartbeat,
  LanguageModelView,
  MediaNodeView,
  MediaserverInfo,
  SessionView,
} from '@session-service/contract'
import { isLeaving } from '../../media-nodes/media-node-status.js'
import { backOffOf } from '../../media-nodes/node-events.js'
import type { MediaNodeRow } from '../../media-nodes/media-node.repository.js'
import { isConnected } from '../../media-nodes/media-nodes.service.js'

/** The members of a view that are not in the row: known to this master, or requested by the query. */
interface NodeDetails {
  heartbeat?: Heartbeat | undefined
  sessionCount: number
  recordingIds: string[]
  sessions?: SessionView[] | undefined
  withRecordings?: boolean
  /** By the cluster's clock, UTC ms. */
  now: number
  mediaserverInfo?: MediaserverInfo | undefined
  hasSpeechToText?: boolean
}

export function mediaNodeView(row: MediaNodeRow, details: NodeDetails): MediaNodeView {
  const { heartbeat, sessionCount, recordingIds, sessions, withRecordings = false, mediaserverInfo, now } = details
  const { hasSpeechToText = false } = details
  const connected = isConnected(row)
  return {
    id: row.id,
    object: 'mediaNode',
    ...(row.environmentId !== '' && { environmentId: row.environmentId }),
    ...(row.ip !== '' && { ip: row.ip }),
    ...(row.uri !== '' && { uri: row.uri }),
    launchingTime: row.launchingTime,
    connected,
    ...(row.connectionTime !== null && { connectionTime: row.connectionTime }),
    ...(row.disconnectedAt !== null && { disconnectionTime: row.disconnectedAt }),
    load: connected && heartbeat ? Math.round(heartbeat.cpuLoad * 100) / 100 : 0,
    status: row.status,
    ...(row.statusReason !== null && { statusReason: row.statusReason }),
    ...backOffOf(row, now),
    ...(isLeaving(row.status) && {
      ...(row.drainDeadline !== null && { drainDeadline: row.drainDeadline }),
      remaining: { sessions: sessionCount, recordings: recordingIds.length },
    }),
    ...(sessions && { sessions }),
    ...(withRecordings && { recordingIds, broadcasts: [] }),
    ...(connected && hasSpeechToText && { languageModels: languageModels(row, heartbeat) }),
    ...(mediaserverInfo && { mediaserverInfo }),
  }
}

/** The models of another boot of the node ended with it. */
function languageModels({ bootId }: MediaNodeRow, heartbeat: Heartbeat | undefined): LanguageModelView[] {
  if (heartbeat?.bootId !== bootId) return []
  return (heartbeat?.languageModels ?? [])
    .map(({ lang, status, streams, memoryBytes }) => ({
      lang,
      status,
      streams,
      memory: Math.round(memoryBytes / 1_024),
    }))
    .toSorted((one, other) => (one.lang < other.lang ? -1 : 1))
}
