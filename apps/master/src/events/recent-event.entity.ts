import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm'

/** An event of the last hour, for the dashboard. The table is unlogged: a crash of the database empties it. */
@Entity('recent_event')
@Index('recent_event_session', ['sessionId', 'position'])
export class RecentEventEntity {
  @PrimaryGeneratedColumn('increment', { type: 'bigint', primaryKeyConstraintName: 'recent_event_pk' })
  position!: number

  /** The same as of the event that consumers get. */
  @Column({ type: 'text' })
  id!: string

  @Column({ type: 'text' })
  name!: string

  /** Null for events of the cluster. */
  @Column({ name: 'session_id', type: 'text', nullable: true })
  sessionId!: string | null

  /** JSON. */
  @Column({ type: 'text' })
  payload!: string

  /** UTC ms. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  @Column({ name: 'stored_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  storedAt!: Date
}
