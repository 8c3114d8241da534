import type { ConnectionView, IceServer, MediaOptions, MediaserverOptions, Role } from '@session-service/contract'
import { columns } from '../platform/database/sql.js'
import { ConnectionEntity } from './connection.entity.js'

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

/** Select list of a connection `c` with its streams. One statement reads all of them, so that they are consistent. */
export const CONNECTION_ROW = `
  ${columns(ConnectionEntity, 'c', [
    'id',
    'sessionId',
    'type',
    'status',
    'createdAt',
    'activeAt',
    'serverData',
    'clientData',
    'record',
    'role',
    'mediaserverOptions',
    'iceServers',
    'location',
    'ip',
    'platform',
    'tokenNonce',
  ])},
  (SELECT coalesce(json_agg(json_build_object('streamId', p.id, 'createdAt', p.created_at,
     'mediaOptions', p.media_options) ORDER BY p.created_at, p.id), '[]')
   FROM stream p WHERE p.connection_id = c.id) AS publishers,
  (SELECT coalesce(json_agg(json_build_object('streamId', u.stream_id, 'createdAt', u.created_at)
     ORDER BY u.created_at, u.stream_id), '[]')
   FROM subscription u WHERE u.connection_id = c.id) AS subscribers`

/** The Connection object of the REST API. Members that do not apply to the type or the status are null. */
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
