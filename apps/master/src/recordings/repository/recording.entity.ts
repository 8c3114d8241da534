import type {
  RecordingEnded,
  RecordingProperties,
  RecordingStatus,
  RecordingStopReason,
} from '@session-service/contract'
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm'
import type { z } from 'zod'

export type RecordingState = z.infer<typeof RecordingStatus>

/** A recording, kept until it is deleted; its session may be long gone. Times in UTC ms. */
@Entity('recording')
@Index('recording_order', ['createdAt', 'id'])
@Index('recording_session', ['sessionId'])
@Index('recording_live', ['uniqueSessionId'], { unique: true, where: `status IN ('starting', 'started')` })
@Index('recording_unsettled', ['status'], { where: `status IN ('starting', 'started', 'stopped')` })
@Index('recording_removed', ['removedAt'], { where: 'removed_at IS NOT NULL' })
export class RecordingEntity {
  /** Free again once the recording is deleted, with its files: parts, not this, tell two uses apart. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'recording_pk' })
  id!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @Column({ name: 'unique_session_id', type: 'text' })
  uniqueSessionId!: string

  @Column({ type: 'text' })
  status!: RecordingState

  /** When it was asked for; from `started` on, the time of the first media in its files. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  /** What it is made with, everything decided; `name` is the file's. */
  @Column({ type: 'jsonb' })
  properties!: RecordingProperties

  /** Started by the session's recording mode ALWAYS. */
  @Column({ name: 'is_automatic', type: 'boolean', default: false })
  isAutomatic!: boolean

  /** Of the finished file, or of the files of an INDIVIDUAL one together; 0 before. */
  @Column({ type: 'bigint', default: 0 })
  size!: number

  /** Seconds; 0 before it is finished. */
  @Column({ type: 'double precision', default: 0 })
  duration!: number

  /** Whether there is sound in the finished file; null before. */
  @Column({ name: 'has_audio', type: 'boolean', nullable: true })
  hasAudio!: boolean | null

  @Column({ name: 'has_video', type: 'boolean', nullable: true })
  hasVideo!: boolean | null

  /** The finished file's name, in the recording's folder. */
  @Column({ type: 'text', nullable: true })
  file!: string | null

  @Column({ name: 'stop_reason', type: 'text', nullable: true })
  stopReason!: RecordingStopReason | null

  /** Where its last part is made. */
  @Column({ name: 'media_node_id', type: 'text' })
  mediaNodeId!: string

  /** When it stops by itself, unless somebody publishes before. */
  @Column({ name: 'autostop_at', type: 'timestamptz', nullable: true })
  autostopAt!: Date | null

  /** When its status was last changed, by the database's clock. */
  @Column({ name: 'changed_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  changedAt!: Date

  /** Who makes its file, until when; without a master, when that is tried again. */
  @Column({ name: 'claimed_by', type: 'text', nullable: true })
  claimedBy!: string | null

  @Column({ name: 'claimed_until', type: 'timestamptz', nullable: true })
  claimedUntil!: Date | null

  /** How often its file could not be made. */
  @Column({ type: 'integer', default: 0 })
  attempts!: number

  /** Whether files came after it was finished, from a node that had been given up: it is finished once more with them. */
  @Column({ name: 'is_recovered', type: 'boolean', default: false })
  isRecovered!: boolean

  /** When it was deleted: for whoever asks there is no such recording; only its files have to be removed yet. */
  @Column({ name: 'removed_at', type: 'timestamptz', nullable: true })
  removedAt!: Date | null
}

/** What one node records of it without a break. Numbers are never used twice, whatever becomes of the recording. */
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

  /** Of the session's media that it records. */
  @Column({ name: 'media_epoch', type: 'integer' })
  mediaEpoch!: number

  @Column({ name: 'asked_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  askedAt!: Date

  /** Time of its first media. */
  @Column({ name: 'started_at', type: 'bigint', nullable: true })
  startedAt!: number | null

  /** What its node said of its end, or what is taken for its end when the node says nothing. */
  @Column({ type: 'jsonb', nullable: true })
  ended!: RecordingEnded | null

  @Column({ name: 'ended_at', type: 'timestamptz', nullable: true })
  endedAt!: Date | null
}

/** The columns that decide where a recording's files are. Numbers of parts are never reused, ids of recordings are. */
export type RecordingOfFiles = Pick<
  RecordingEntity,
  'id' | 'sessionId' | 'uniqueSessionId' | 'createdAt' | 'properties' | 'file'
>
