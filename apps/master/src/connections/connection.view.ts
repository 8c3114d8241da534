import type { ConnectionView, IceServer, MediaOptions, MediaserverOptions, Role } from '@session-service/contract'

/** A connection as `CONNECTION_ROW` reads it, streams included. */
export interface ConnectionRow {
  id: string
  sessionId: string
  type: 'WEBRTC' | 'IPCAM'
  status: 'pending' | 'active'
  createdAt: number
  activeAt: number | null
  serverData: string
  clientData: string | null
  record: boolean
  role: Role
  mediaserverOptions: MediaserverOptions | null
  iceServers: IceServer[]
  location: string | null
  ip: string | null
  platform: string | null
  tokenNonce: string
  publishers: { streamId: string; createdAt: number; mediaOptions: MediaOptions }[]
  subscribers: { streamId: string; createdAt: number }[]
}

/** Columns of one connection `c`; one statement reads a whole session, so that it shows one moment. */
export const CONNECTION_ROW = `
  c.id, c.session_id AS "sessionId", c.type, c.status, c.created_at AS "createdAt", c.active_at AS "activeAt",
  c.server_data AS "serverData", c.client_data AS "clientData", c.record, c.role,
  c.mediaserver_options AS "mediaserverOptions", c.ice_servers AS "iceServers", c.location, c.ip, c.platform,
  c.token_nonce AS "tokenNonce",
  (SELECT coalesce(json_agg(json_build_object('streamId', p.id, 'createdAt', p.created_at,
     'mediaOptions', p.media_options) ORDER BY p.created_at, p.id), '[]')
   FROM stream p WHERE p.connection_id = c.id) AS publishers,
  (SELECT coalesce(json_agg(json_build_object('streamId', u.stream_id, 'createdAt', u.created_at)
     ORDER BY u.created_at, u.stream_id), '[]')
   FROM subscription u WHERE u.connection_id = c.id) AS subscribers`

/** The contract's Connection object: members that do not apply to the type or the status are null. */
export function connectionView(row: ConnectionRow, tokenUrl: string): ConnectionView {
  const isActive = row.status === 'active'
  return {
    id: row.id,
    object: 'connection',
    connectionId: row.id,
    type: row.type,
    status: row.status,
    sessionId: row.sessionId,
    createdAt: row.createdAt,
    activeAt: row.activeAt,
    location: row.location,
    ip: row.ip,
    platform: row.platform,
    token: tokenUrl,
    serverData: row.serverData,
    clientData: row.clientData,
    record: row.record,
    role: row.role,
    mediaserverOptions: row.mediaserverOptions,
    customIceServers: row.iceServers,
    rtspUri: null,
    adaptativeBitrate: null,
    onlyPlayWithSubscribers: null,
    networkCache: null,
    publishers: isActive ? row.publishers : null,
    subscribers: isActive ? row.subscribers : null,
  }
}
