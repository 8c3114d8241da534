import { Column, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm'
import type { Consumer } from './consumers.js'

/** An event that is still to be delivered to one consumer; positions within a session have the order of the changes. */
@Entity('outbox')
@Unique('outbox_id', ['id', 'consumer'])
@Index('outbox_due', ['consumer', 'position'], { where: 'dead_at IS NULL' })
@Index('outbox_session', ['consumer', 'sessionKey', 'position'], { where: 'dead_at IS NULL' })
@Index('outbox_dead', ['deadAt'], { where: 'dead_at IS NOT NULL' })
export class OutboxEntity {
  @PrimaryGeneratedColumn('increment', { type: 'bigint', primaryKeyConstraintName: 'outbox_pk' })
  position!: number

  /** The same for every consumer and every attempt. */
  @Column({ type: 'text' })
  id!: string

  @Column({ type: 'text' })
  consumer!: Consumer

  /** The session's unique id, or one key for all events of the cluster. */
  @Column({ name: 'session_key', type: 'text' })
  sessionKey!: string

  @Column({ type: 'text' })
  name!: string

  /** Id of an event, of another session or of the cluster, that is posted before this one. */
  @Column({ name: 'after_id', type: 'text', nullable: true })
  afterId!: string | null

  /** JSON as the consumers get it. */
  @Column({ type: 'text' })
  payload!: string

  /** The `traceparent` of the change, when its trace is recorded. */
  @Column({ name: 'trace_context', type: 'text', nullable: true })
  traceContext!: string | null

  /** UTC ms. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  /** Start of the event's age; a replay sets it again. */
  @Column({ name: 'queued_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  queuedAt!: Date

  @Column({ type: 'integer', default: 0 })
  attempts!: number

  /** When the next attempt is due; during an attempt the end of the lease of the master that posts it. */
  @Column({ name: 'next_attempt_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  nextAttemptAt!: Date

  @Column({ name: 'last_error', type: 'text', default: '' })
  lastError!: string

  @Column({ name: 'dead_at', type: 'timestamptz', nullable: true })
  deadAt!: Date | null
}
