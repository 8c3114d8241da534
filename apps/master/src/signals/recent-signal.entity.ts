import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm'

/** A signal of the last seconds, kept for participants that resume. The table is unlogged. */
@Entity('recent_signal')
@Index('recent_signal_session', ['sessionKey', 'id'])
export class RecentSignalEntity {
  @PrimaryGeneratedColumn('increment', { type: 'bigint', primaryKeyConstraintName: 'recent_signal_pk' })
  id!: number

  /** The `uniqueSessionId`. */
  @Column({ name: 'session_key', type: 'text' })
  sessionKey!: string

  /** Ids of connections; null for all participants. */
  @Column({ type: 'text', array: true, nullable: true })
  recipients!: string[] | null

  /** The id of the connection that sent it; null for a signal of the REST API. */
  @Column({ type: 'text', nullable: true })
  sender!: string | null

  @Column({ type: 'text' })
  type!: string

  @Column({ type: 'text' })
  data!: string

  /** The size of `data`, so that trimming the table does not read it. */
  @Column({ type: 'integer' })
  bytes!: number

  @Column({ name: 'sent_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  sentAt!: Date
}
