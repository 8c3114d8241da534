import { type CameraChange, type CameraTracks, type ForcedVideoCodec, newSecret } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { participantJoined } from '../events/event-drafts.js'
import { EventLog, LOCK_BY_ID } from '../events/event-log.js'
import { eventSession } from '../events/event-queries.js'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import { digest } from '../tokens/tokens.service.js'
import type { Camera, CameraState } from './camera.js'
import { ConnectionEntity } from './connection.entity.js'

/** A camera that is not active after this time is deleted, s; sooner when the master that starts it dies. */
const AWAITED_S = 120
/** A master that restarts cameras has finished within this time, s; another one may try after it. */
const CLAIM_S = 12
/** The pause after a failed restart, s. */
const RETRY_S = 2
/** Cameras that a master claims at once. */
const CLAIMED_AT_ONCE = 32

export interface NewCamera {
  id: string
  sessionId: string
  createdAt: number
  serverData: string
  record: boolean
  camera: Camera
  ip: string | null
  location: string
}

/** The members of a session that the start of a camera needs. */
interface CameraSession {
  roomId: string
  forcedNodeId: string | null
  forcedVideoCodec: ForcedVideoCodec
  allowTranscoding: boolean
  recordingMode: 'ALWAYS' | 'MANUAL'
}

/** A connection of a camera with what a media node needs to know of it. */
export interface CameraConnection extends CameraSession {
  connectionId: string
  sessionId: string
  serverData: string
  record: boolean
  camera: Camera
}

/** A camera whose stream is published. */
export type PublishedCamera = Pick<CameraConnection, 'connectionId' | 'sessionId' | 'roomId'>

/** A participant of type IPCAM, whose media node has read the camera. */
type StartedCamera = Pick<ConnectionEntity, 'ip' | 'location' | 'serverData' | 'cameraState'> & { activeAt: number }

const SESSION = `s.unique_id AS "roomId", s.forced_node_id AS "forcedNodeId", s.forced_video_codec AS "forcedVideoCodec",
  s.allow_transcoding AS "allowTranscoding", s.recording_mode AS "recordingMode"`

/** The time since which the camera is a participant, and its state then. */
export interface ActivatedCamera {
  activeAt: number
  state: CameraState | null
}

/** The epoch of the session's current placement, or of the next one when it has none. */
const NEXT_EPOCH = 's.media_epoch + (s.media_node_id IS NULL)::integer'

/** Condition on `connection c`: an active camera without a stream, which no master is starting. */
const IS_STOPPED = `c.camera IS NOT NULL AND c.status = 'active'
  AND NOT EXISTS (SELECT 1 FROM stream p WHERE p.connection_id = c.id)
  AND (c.camera_retry_at IS NULL OR c.camera_retry_at < clock_timestamp()
    OR c.camera_retry_at > clock_timestamp() + ${CLAIM_S} * interval '1 second')`

/** Connections are read only if one of them is a camera, which the index of cameras shows. */
export const STOPPED_CAMERAS = `
  SELECT 1 FROM (SELECT min(session_id) AS first FROM connection WHERE camera IS NOT NULL) k
  CROSS JOIN LATERAL (SELECT 1 FROM connection c WHERE k.first IS NOT NULL AND ${IS_STOPPED} LIMIT 1) c`

/**
 * The rows of cameras on the network. Hand-written: the statements lock the session's row, compare states or use the
 * database's clock.
 */
@Injectable()
export class CameraRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
  ) {}

  /** Inserts a connection that stays invisible until `activate`. NOT_FOUND when there is no such session. */
  async insert({ id, sessionId, ...connection }: NewCamera, masterId: string): Promise<CameraSession> {
    const state: CameraState = { status: 'connecting', error: null, epoch: 0, revision: -1 }
    const { createdAt, serverData, record, camera, ip, location } = connection
    const session = await firstRow<CameraSession>(
      this.dataSource.manager,
      `WITH s AS (SELECT * FROM session WHERE id = $2 FOR KEY SHARE),
            inserted AS (
              INSERT INTO connection (id, session_id, type, status, created_at, server_data, record, role, ice_servers,
                token_nonce, token_hash, platform, ip, location, camera, camera_state, master_id, evict_at)
              SELECT $1, s.id, 'IPCAM', 'awaited', $3, $4, $5, 'PUBLISHER', '[]', '', $6, 'IPCAM', $7, $8, $9, $10, $11,
                clock_timestamp() + ${AWAITED_S} * interval '1 second'
              FROM s RETURNING session_id)
       SELECT ${SESSION} FROM s JOIN inserted ON inserted.session_id = s.id`,
      // No token has this hash.
      [id, sessionId, createdAt, serverData, record, digest(newSecret()), ip, location, camera, state, masterId],
    )
    if (session) return session
    throw noSuchSession(sessionId)
  }

  /** Makes the camera a participant. Returns undefined when its session has ended. */
  activate(sessionId: string, id: string, tracks: CameraTracks): Promise<ActivatedCamera | undefined> {
    return this.events.change({ lock: LOCK_BY_ID, keys: [sessionId] }, async (manager, record) => {
      const started = await this.#activateRow(manager, id, tracks)
      if (!started) return undefined
      const session = this.events.isOn ? await eventSession(manager, sessionId) : undefined
      const { cameraState: state, activeAt, ...members } = started
      const participant = { connectionId: id, platform: 'IPCAM', clientData: null, activeAt, ...members }
      if (session) await record(participantJoined(session, participant))
      return { activeAt, state }
    })
  }

  #activateRow(manager: EntityManager, id: string, tracks: CameraTracks): Promise<StartedCamera | undefined> {
    return firstRow<StartedCamera>(
      manager,
      `UPDATE connection c SET status = 'active', evict_at = NULL, master_id = NULL,
              active_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
              camera = camera || jsonb_build_object('tracks', $2::jsonb),
              camera_retry_at = clock_timestamp() + ${CLAIM_S} * interval '1 second'
       WHERE id = $1 AND status = 'awaited'
       RETURNING ${columns(ConnectionEntity, 'c', ['activeAt', 'ip', 'location', 'serverData', 'cameraState'])}`,
      [id, JSON.stringify(tracks)],
    )
  }

  /** Deletes a camera that was not activated. */
  async discard(id: string): Promise<void> {
    await execute(this.dataSource.manager, `DELETE FROM connection WHERE id = $1 AND status = 'awaited'`, [id])
  }

  /** Claims cameras without a stream, of all sessions or of these rooms, for this master to start them. */
  claimStopped(roomIds?: readonly string[]): Promise<CameraConnection[]> {
    return rows<CameraConnection>(
      this.dataSource.manager,
      `WITH stopped AS MATERIALIZED (
         SELECT c.id FROM connection c
         WHERE ${IS_STOPPED}
           AND ($1::text[] IS NULL OR c.session_id IN (SELECT id FROM session WHERE unique_id = ANY($1)))
         ORDER BY c.id LIMIT ${CLAIMED_AT_ONCE} FOR UPDATE OF c SKIP LOCKED)
       UPDATE connection c SET camera_retry_at = clock_timestamp() + ${CLAIM_S} * interval '1 second'
       FROM stopped, session s WHERE c.id = stopped.id AND s.id = c.session_id
       RETURNING c.id AS "connectionId", ${SESSION},
         ${columns(ConnectionEntity, 'c', ['sessionId', 'serverData', 'record', 'camera'])}`,
      [roomIds ?? null],
    )
  }

  /** Ends the claim of a camera; after a failure the next one is possible after a pause. */
  async release(id: string, { hasFailed }: { hasFailed: boolean }): Promise<void> {
    await execute(
      this.dataSource.manager,
      `UPDATE connection SET camera_retry_at = CASE WHEN $2 THEN clock_timestamp() + ${RETRY_S} * interval '1 second' END
       WHERE id = $1`,
      [id, hasFailed],
    )
  }

  /** Stores the report of a media node. Undefined when a newer one is stored, or there is no such camera. */
  apply({ roomId, connectionId, ...state }: CameraChange): Promise<Pick<ConnectionEntity, 'status'> | undefined> {
    return firstRow<Pick<ConnectionEntity, 'status'>>(
      this.dataSource.manager,
      `UPDATE connection c SET camera_state = $3::jsonb FROM session s
       WHERE c.id = $1 AND s.id = c.session_id AND s.unique_id = $2 AND c.camera IS NOT NULL
         AND ((c.camera_state->>'epoch')::integer, (c.camera_state->>'revision')::integer) < ($4, $5)
       RETURNING c.status`,
      [connectionId, roomId, JSON.stringify(state), state.epoch, state.revision],
    )
  }

  /**
   * Stores that a camera is being restarted. Reports of the media that it had before are older. False when this is stored
   * already, with this error or, at the start of another attempt, with any.
   */
  async setRestarting(id: string, error: string, { isNewAttempt }: { isNewAttempt: boolean }): Promise<boolean> {
    const changed = await execute(
      this.dataSource.manager,
      `UPDATE connection c SET camera_state = jsonb_build_object('status', 'reconnecting', 'error', $2::text,
                'epoch', ${NEXT_EPOCH}, 'revision', -1)
       FROM session s WHERE c.id = $1 AND s.id = c.session_id
         AND NOT (c.camera_state->>'status' = 'reconnecting' AND (c.camera_state->>'revision')::integer = -1
           AND ($3 OR c.camera_state->>'error' IS NOT DISTINCT FROM $2::text))`,
      [id, error, isNewAttempt],
    )
    return changed > 0
  }

  /** The cameras whose streams a process of a media node publishes, by the database. */
  publishedOn(nodeId: string, bootId: string): Promise<PublishedCamera[]> {
    return rows<PublishedCamera>(
      this.dataSource.manager,
      `SELECT c.id AS "connectionId", s.id AS "sessionId", s.unique_id AS "roomId"
       FROM connection c JOIN session s ON s.id = c.session_id
       WHERE c.camera IS NOT NULL AND c.status = 'active' AND s.media_node_id = $1 AND s.media_node_boot_id = $2
         AND EXISTS (SELECT 1 FROM stream p WHERE p.connection_id = c.id)`,
      [nodeId, bootId],
    )
  }
}
