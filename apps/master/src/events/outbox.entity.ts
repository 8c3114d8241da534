import { Column, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm'

/** An event that one of its consumers has not had yet; positions within a session are in the order of what happened. */
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
  consumer!: 'cdr' | 'webhook'

  /** The session's unique id. */
  @Column({ name: 'session_key', type: 'text' })
  sessionKey!: string

  @Column({ type: 'text' })
  name!: string

  /** Id of an event that a webhook should have had before, should it be of another session or of the cluster. */
  @Column({ name: 'after_id', type: 'text', nullable: true })
  afterId!: string | null

  /** JSON as it is handed out. */
  @Column({ type: 'text' })
  payload!: string

  /** UTC ms. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  /** Its age counts from here; a replay begins anew. */
  @Column({ name: 'queued_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  queuedAt!: Date

  @Column({ type: 'integer', default: 0 })
  attempts!: number

  /** Also the lease of whoever is posting it. */
  @Column({ name: 'next_attempt_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  nextAttemptAt!: Date

  @Column({ name: 'last_error', type: 'text', default: '' })
  lastError!: string

  @Column({ name: 'dead_at', type: 'timestamptz', nullable: true })
  deadAt!: Date | null
}
