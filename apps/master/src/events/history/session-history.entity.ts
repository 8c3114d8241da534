import type { HistorySessionDetailsView } from '@session-service/contract'
import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** The part of an ended session that lists do not show. */
type SessionHistoryDetails = Pick<HistorySessionDetailsView, 'users' | 'recordings'>

/** An ended session. Times in UTC ms. */
@Entity('session_history')
@Index('session_history_end', ['destroyedAt', 'uniqueSessionId'])
@Index('session_history_session', ['sessionId', 'destroyedAt', 'uniqueSessionId'])
@Index('session_history_reason', ['reason', 'destroyedAt', 'uniqueSessionId'])
@Index('session_history_node', ['mediaNodeId', 'destroyedAt', 'uniqueSessionId'])
@Index('session_history_age', ['storedAt'])
export class SessionHistoryEntity {
  @PrimaryColumn({ name: 'unique_session_id', type: 'text', primaryKeyConstraintName: 'session_history_pk' })
  uniqueSessionId!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @Column({ name: 'custom_session_id', type: 'text' })
  customSessionId!: string

  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  @Column({ name: 'destroyed_at', type: 'bigint' })
  destroyedAt!: number

  /** Whole seconds. */
  @Column({ type: 'integer' })
  duration!: number

  @Column({ type: 'text' })
  reason!: HistorySessionDetailsView['reason']

  /** Null when the history was switched on during the session. */
  @Column({ name: 'media_mode', type: 'text', nullable: true })
  mediaMode!: 'ROUTED' | 'RELAYED' | null

  @Column({ name: 'recording_mode', type: 'text', nullable: true })
  recordingMode!: 'ALWAYS' | 'MANUAL' | null

  @Column({ name: 'media_node_id', type: 'text', nullable: true })
  mediaNodeId!: string | null

  @Column({ name: 'number_of_users', type: 'integer' })
  numberOfUsers!: number

  @Column({ name: 'number_of_connections', type: 'integer' })
  numberOfConnections!: number

  @Column({ name: 'number_of_recordings', type: 'integer' })
  numberOfRecordings!: number

  /** Not part of lists: it has an element for each stream and subscription of the session. */
  @Column({ type: 'jsonb', select: false })
  details!: SessionHistoryDetails

  /** By the clock of the database; the retention counts from it. */
  @Column({ name: 'stored_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  storedAt!: Date
}

/** A record of a live session, until its end. */
@Entity('session_record')
@Index('session_record_session', ['uniqueSessionId', 'position'])
@Index('session_record_age', ['storedAt'])
export class SessionRecordEntity {
  /** Its position in the outbox. */
  @PrimaryColumn({ type: 'bigint', primaryKeyConstraintName: 'session_record_pk' })
  position!: number

  @Column({ name: 'unique_session_id', type: 'text' })
  uniqueSessionId!: string

  @Column({ type: 'text' })
  name!: string

  @Column({ type: 'jsonb' })
  payload!: object

  @Column({ name: 'stored_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  storedAt!: Date
}
