import type { ConnectionView, IceServer, MediaOptions, MediaserverOptions, Role } from '@session-service/contract'
import { columns } from '../platform/database/sql.js'
import type { Camera, CameraState } from './camera.js'
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
  /** Hexadecimal. */
  tokenHash: string
  camera: Camera | null
  cameraState: CameraState | null
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
    'camera',
    'cameraState',
  ])}, encode(c.token_hash, 'hex') AS "tokenHash",
  (SELECT coalesce(json_agg(json_build_object('streamId', p.id, 'createdAt', p.created_at,
     'mediaOptions', p.media_options) ORDER BY p.created_at, p.id), '[]')
   FROM stream p WHERE p.connection_id = c.id) AS publishers,
  (SELECT coalesce(json_agg(json_build_object('streamId', u.stream_id, 'createdAt', u.created_at)
     ORDER BY u.created_at, u.stream_id), '[]')
   FROM subscription u WHERE u.connection_id = c.id) AS subscribers`

/** The members of a Connection object that differ between clients and cameras. */
function membersOfType(row: ConnectionRow, tokenUrl: string) {
  const { camera, cameraState } = row
  if (!camera) {
    return {
      token: tokenUrl,
      role: row.role,
      mediaserverOptions: row.mediaserverOptions,
      customIceServers: row.iceServers,
      rtspUri: null,
      adaptativeBitrate: null,
      onlyPlayWithSubscribers: null,
      networkCache: null,
      cameraStatus: null,
      cameraError: null,
    }
  }
  const { rtspUri, adaptativeBitrate, onlyPlayWithSubscribers, networkCache } = camera
  return {
    token: null,
    role: null,
    mediaserverOptions: null,
    customIceServers: null,
    rtspUri,
    adaptativeBitrate,
    onlyPlayWithSubscribers,
    networkCache,
    cameraStatus: cameraState?.status ?? 'connecting',
    cameraError: cameraState?.error ?? null,
  }
}

/** The Connection object of the REST API. Members that do not apply to the type or the status are null. */
export function connectionView(row: ConnectionRow, tokenUrl: string): ConnectionView {
  const isActive = row.status === 'active'
  const { camera } = row
  const publishers = camera ? row.publishers.map((each) => ({ ...each, rtspUri: camera.rtspUri })) : row.publishers
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
    serverData: row.serverData,
    clientData: row.clientData,
    record: row.record,
    ...membersOfType(row, tokenUrl),
    publishers: isActive ? publishers : null,
    subscribers: isActive ? row.subscribers : null,
  }
}

/** For viewers that may not use what a connection grants access to. */
export function withoutSecrets(view: ConnectionView): ConnectionView {
  const publishers =
    view.publishers?.map(({ streamId, createdAt, mediaOptions }) => ({ streamId, createdAt, mediaOptions })) ?? null
  return { ...view, token: null, customIceServers: null, rtspUri: null, publishers }
}

/** The stored members from which the token of a connection is derived. */
export const tokenOf = ({ tokenNonce: nonce, tokenHash: hash }: ConnectionRow): { nonce: string; hash: string } => ({
  nonce,
  hash,
})
