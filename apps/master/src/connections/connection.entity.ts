import type {
  IceServer,
  MediaserverOptions,
  NetworkQualityChange,
  Role,
  StreamDestroyedReason,
} from '@session-service/contract'
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm'
import { SessionEntity } from '../sessions/session.entity.js'
import type { Camera, CameraState } from './camera.js'

/** A participant, or a token that no client has used yet. API times in UTC ms; deadlines by the database's clock. */
@Entity('connection')
@Unique('connection_token_hash', ['tokenHash'])
@Index('connection_session_created', ['sessionId', 'createdAt', 'id'])
@Index('connection_evict_at', ['evictAt'], { where: 'evict_at IS NOT NULL' })
@Index('connection_master', ['masterId'], { where: 'master_id IS NOT NULL' })
@Index('connection_camera', ['sessionId'], { where: 'camera IS NOT NULL' })
export class ConnectionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'connection_pk' })
  id!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @ManyToOne(() => SessionEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'session_id', foreignKeyConstraintName: 'connection_session_fk' })
  session?: SessionEntity

  @Column({ type: 'text' })
  type!: 'WEBRTC' | 'IPCAM'

  /**
   * A recorder is `awaited`, then `hidden`, so that queries for participants do not return it. A camera is `awaited` while
   * its node connects to it.
   */
  @Column({ type: 'text' })
  status!: 'pending' | 'active' | 'awaited' | 'hidden'

  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  @Column({ name: 'active_at', type: 'bigint', nullable: true })
  activeAt!: number | null

  @Column({ name: 'server_data', type: 'text' })
  serverData!: string

  @Column({ name: 'client_data', type: 'text', nullable: true })
  clientData!: string | null

  @Column({ type: 'boolean' })
  record!: boolean

  @Column({ type: 'text' })
  role!: Role

  @Column({ name: 'mediaserver_options', type: 'jsonb', nullable: true })
  mediaserverOptions!: MediaserverOptions | null

  @Column({ name: 'ice_servers', type: 'jsonb' })
  iceServers!: IceServer[]

  @Column({ type: 'text', nullable: true })
  location!: string | null

  @Column({ type: 'text', nullable: true })
  ip!: string | null

  @Column({ type: 'text', nullable: true })
  platform!: string | null

  /** The token is derived from this and the key of the service. It cannot be derived from this alone. */
  @Column({ name: 'token_nonce', type: 'text' })
  tokenNonce!: string

  @Column({ name: 'token_hash', type: 'bytea' })
  tokenHash!: Buffer

  @Column({ name: 'resume_hash', type: 'bytea', nullable: true })
  resumeHash!: Buffer | null

  /** The master that holds the participant's socket. */
  @Column({ name: 'master_id', type: 'text', nullable: true })
  masterId!: string | null

  /** When a participant without a socket, a recorder or a camera that has not joined, is evicted; else null. */
  @Column({ name: 'evict_at', type: 'timestamptz', nullable: true })
  evictAt!: Date | null

  /** The newest signal that was sent to the participant when the loss of its socket was noticed. */
  @Column({ name: 'last_signal_id', type: 'bigint', nullable: true })
  lastSignalId!: number | null

  @Column({ type: 'jsonb', nullable: true })
  camera!: Camera | null

  @Column({ name: 'camera_state', type: 'jsonb', nullable: true })
  cameraState!: CameraState | null

  /** The last report about the network of the publisher. */
  @Column({ name: 'network_quality', type: 'jsonb', nullable: true })
  networkQuality!: Pick<NetworkQualityChange, 'epoch' | 'revision' | 'level'> | null

  /** Why others have ended its last streams, by their ids. */
  @Column({ name: 'ended_streams', type: 'jsonb', nullable: true })
  endedStreams!: Record<string, StreamDestroyedReason> | null

  /** The `traceparent` of the request that created it, when its trace is recorded. */
  @Column({ name: 'trace_context', type: 'text', nullable: true })
  traceContext!: string | null

  /** No master starts the camera again before this time. */
  @Column({ name: 'camera_retry_at', type: 'timestamptz', nullable: true })
  cameraRetryAt!: Date | null
}
