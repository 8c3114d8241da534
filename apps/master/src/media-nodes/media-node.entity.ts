import type { MediaNodeStatus } from '@session-service/contract'
import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** A media node that belongs to the cluster; whatever its process says of itself, this is what masters go by. */
@Entity('media_node')
@Index('media_node_order', ['launchingTime', 'id'])
export class MediaNodeEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'media_node_pk' })
  id!: string

  @Column({ name: 'environment_id', type: 'text', default: '' })
  environmentId!: string

  @Column({ type: 'text', default: '' })
  ip!: string

  @Column({ type: 'text', default: '' })
  uri!: string

  @Column({ type: 'text', default: '' })
  version!: string

  @Column({ type: 'text' })
  status!: MediaNodeStatus

  /** By the database's clock. */
  @Column({ name: 'changed_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  changedAt!: Date

  /** The start of its process that was heard last; null until it is. */
  @Column({ name: 'boot_id', type: 'text', nullable: true })
  bootId!: string | null

  /** UTC ms. */
  @Column({ name: 'launching_time', type: 'bigint' })
  launchingTime!: number

  /** When it was heard for the first time, or again; UTC ms. */
  @Column({ name: 'connection_time', type: 'bigint', nullable: true })
  connectionTime!: number | null

  /** When a master heard it last, as far as that was written down; UTC ms. */
  @Column({ name: 'heard_at', type: 'bigint', default: 0 })
  heardAt!: number

  /** When it was found to be lost, UTC ms; null while it is heard. */
  @Column({ name: 'disconnected_at', type: 'bigint', nullable: true })
  disconnectedAt!: number | null

  /** The `nodeCrashed` that told of it: what follows from the crash is told after. */
  @Column({ name: 'crash_event_id', type: 'text', nullable: true })
  crashEventId!: string | null

  /** Crashes in a row, each soon after the return from the one before. */
  @Column({ name: 'crash_count', type: 'integer', default: 0 })
  crashCount!: number

  /** Until when no session is placed there if another node can take it, UTC ms. */
  @Column({ name: 'back_off_until', type: 'bigint', nullable: true })
  backOffUntil!: number | null

  /** While it is on its way out: when it ends whatever it holds, UTC ms. */
  @Column({ name: 'drain_deadline', type: 'bigint', nullable: true })
  drainDeadline!: number | null
}
