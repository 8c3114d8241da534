import { columns } from '../platform/database/sql.js'
import { ConnectionEntity } from './connection.entity.js'

/** The select list of a Participant, from a connection `c` of the session `s`. */
export const PARTICIPANT = `
  c.id AS "connectionId", s.unique_id AS "roomId", c.status = 'hidden' AS "isHidden",
  ${columns(ConnectionEntity, 'c', [
    'sessionId',
    'role',
    'record',
    'createdAt',
    'activeAt',
    'serverData',
    'clientData',
    'mediaserverOptions',
    'iceServers',
    'traceContext',
  ])},
  s.forced_node_id AS "forcedNodeId", s.forced_video_codec AS "forcedVideoCodec",
  s.allow_transcoding AS "allowTranscoding", s.recording_mode AS "recordingMode",
  s.max_streams AS "maxStreams"`
