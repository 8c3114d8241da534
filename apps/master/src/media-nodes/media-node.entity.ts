import type { MediaNodeStatus } from '@session-service/contract'
import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** A media node of the cluster. Masters act on this row; heartbeats only lead to changes of it. */
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

  /** Why the environment of the node has not started it yet, could not start it, or ends it; null without a reason. */
  @Column({ name: 'status_reason', type: 'text', nullable: true })
  statusReason!: string | null

  /** Time from its launch by a driver to its first registration, ms; null for other nodes. */
  @Column({ name: 'launch_duration', type: 'integer', nullable: true })
  launchDuration!: number | null

  /** It is started in addition to the others, to replace an outdated one. */
  @Column({ name: 'is_surge', type: 'boolean', default: false })
  isSurge!: boolean

  /** It has ended because it did not reconnect in time, and not on request. */
  @Column({ name: 'is_given_up', type: 'boolean', default: false })
  isGivenUp!: boolean

  /** Time of the last change of the status, by the clock of the database. */
  @Column({ name: 'changed_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  changedAt!: Date

  /** Identifies the run of its process; null before the first heartbeat. */
  @Column({ name: 'boot_id', type: 'text', nullable: true })
  bootId!: string | null

  /** UTC ms. */
  @Column({ name: 'launching_time', type: 'bigint' })
  launchingTime!: number

  /** Time of the last registration or reconnection, UTC ms. */
  @Column({ name: 'connection_time', type: 'bigint', nullable: true })
  connectionTime!: number | null

  /** Time of the last heartbeat that a master has written, UTC ms. */
  @Column({ name: 'heard_at', type: 'bigint', default: 0 })
  lastHeartbeatAt!: number

  /** The interval that this heartbeat announced, ms. */
  @Column({ name: 'heartbeat_interval', type: 'integer', default: 500 })
  heartbeatInterval!: number

  /** Time at which its loss was detected, UTC ms; null while it is connected. */
  @Column({ name: 'disconnected_at', type: 'bigint', nullable: true })
  disconnectedAt!: number | null

  /** Id of the `nodeCrashed` event: the webhook receives the events that follow from the crash after it. */
  @Column({ name: 'crash_event_id', type: 'text', nullable: true })
  crashEventId!: string | null

  /** Consecutive crashes, each soon after the recovery from the previous one. */
  @Column({ name: 'crash_count', type: 'integer', default: 0 })
  crashCount!: number

  /** End of the back-off, UTC ms: until then sessions are placed on other nodes if possible. */
  @Column({ name: 'back_off_until', type: 'bigint', nullable: true })
  backOffUntil!: number | null

  /** Time at which a draining node ends its remaining sessions, UTC ms. */
  @Column({ name: 'drain_deadline', type: 'bigint', nullable: true })
  drainDeadline!: number | null
}
