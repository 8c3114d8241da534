import type {
  RecordingEnded,
  RecordingProperties,
  RecordingStatus,
  RecordingStopReason,
} from '@session-service/contract'
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm'
import type { z } from 'zod'

export type RecordingState = z.infer<typeof RecordingStatus>

/** A recording, stored until it is deleted, also after its session has ended. Times in UTC ms. */
@Entity('recording')
@Index('recording_order', ['createdAt', 'id'])
@Index('recording_session', ['sessionId'])
@Index('recording_live', ['uniqueSessionId'], { unique: true, where: `status IN ('starting', 'started')` })
@Index('recording_unsettled', ['status'], { where: `status IN ('starting', 'started', 'stopped')` })
@Index('recording_removal_at', ['removalAt'], { where: 'removal_at IS NOT NULL' })
@Index('recording_removed', ['removedAt'], { where: 'removed_at IS NOT NULL' })
export class RecordingEntity {
  /** Free again once the recording and its files are deleted: only the numbers of parts distinguish two uses. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'recording_pk' })
  id!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @Column({ name: 'unique_session_id', type: 'text' })
  uniqueSessionId!: string

  @Column({ type: 'text' })
  status!: RecordingState

  /** The time of the request; from `started` on, the time of the first media in its files. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  /** Its properties with all defaults resolved; `name` names the file. */
  @Column({ type: 'jsonb' })
  properties!: RecordingProperties

  /** Started by the session's recording mode ALWAYS. */
  @Column({ name: 'is_automatic', type: 'boolean', default: false })
  isAutomatic!: boolean

  /** Bytes of the finished file, or of all files of an INDIVIDUAL recording; 0 before. */
  @Column({ type: 'bigint', default: 0 })
  size!: number

  /** Seconds; 0 before it is finished. */
  @Column({ type: 'double precision', default: 0 })
  duration!: number

  /** True when the finished file has audio; null before. */
  @Column({ name: 'has_audio', type: 'boolean', nullable: true })
  hasAudio!: boolean | null

  @Column({ name: 'has_video', type: 'boolean', nullable: true })
  hasVideo!: boolean | null

  /** The name of the finished file in the recording's folder. */
  @Column({ type: 'text', nullable: true })
  file!: string | null

  @Column({ name: 'stop_reason', type: 'text', nullable: true })
  stopReason!: RecordingStopReason | null

  /** The media node of its last part. */
  @Column({ name: 'media_node_id', type: 'text' })
  mediaNodeId!: string

  /** The time of its automatic stop, unless a participant publishes before. */
  @Column({ name: 'autostop_at', type: 'timestamptz', nullable: true })
  autostopAt!: Date | null

  /** The last change of its status, by the database's clock. */
  @Column({ name: 'changed_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  changedAt!: Date

  /** The master that starts it or makes its file. `claimedUntil` without a master is the time of the next attempt. */
  @Column({ name: 'claimed_by', type: 'text', nullable: true })
  claimedBy!: string | null

  @Column({ name: 'claimed_until', type: 'timestamptz', nullable: true })
  claimedUntil!: Date | null

  /** Failed attempts to make its file. */
  @Column({ type: 'integer', default: 0 })
  attempts!: number

  /** Files of a lost media node came after it was finished: it is finished once more with them. */
  @Column({ name: 'is_recovered', type: 'boolean', default: false })
  isRecovered!: boolean

  /** The announced time of its deletion by the retention. */
  @Column({ name: 'removal_at', type: 'timestamptz', nullable: true })
  removalAt!: Date | null

  /** The time of its deletion: requests no longer find it, but its files are not all removed yet. */
  @Column({ name: 'removed_at', type: 'timestamptz', nullable: true })
  removedAt!: Date | null
}

/** The part of a recording that one media node makes without a break. Its number is never reused. */
@Entity('recording_part')
@Index('recording_part_recording', ['recordingId'])
@Index('recording_part_node', ['nodeId'], { where: 'ended IS NULL' })
export class RecordingPartEntity {
  @PrimaryColumn({
    type: 'bigint',
    primaryKeyConstraintName: 'recording_part_pk',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
  })
  part!: number

  @Column({ name: 'recording_id', type: 'text' })
  recordingId!: string

  @ManyToOne(() => RecordingEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'recording_id', foreignKeyConstraintName: 'recording_part_recording_fk' })
  recording!: RecordingEntity

  @Column({ name: 'node_id', type: 'text' })
  nodeId!: string

  @Column({ name: 'boot_id', type: 'text' })
  bootId!: string

  /** The media epoch of the session that it records. */
  @Column({ name: 'media_epoch', type: 'integer' })
  mediaEpoch!: number

  @Column({ name: 'asked_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  askedAt!: Date

  /** Time of its first media, UTC ms. */
  @Column({ name: 'started_at', type: 'bigint', nullable: true })
  startedAt!: number | null

  /** The report of its media node, or the failure that a master sets when the node is lost. */
  @Column({ type: 'jsonb', nullable: true })
  ended!: RecordingEnded | null

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt!: Date | null
}

/** The columns that locate the files of a recording. Ids of recordings are reused, numbers of parts are not. */
export type RecordingOfFiles = Pick<
  RecordingEntity,
  'id' | 'sessionId' | 'uniqueSessionId' | 'createdAt' | 'properties' | 'file'
>
