import type { ForcedVideoCodec, RecordingProperties } from '@session-service/contract'
import { Check, Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm'

/** A live session. The row is deleted when the session ends. Times in UTC ms. */
@Entity('session')
@Unique('session_unique_id', ['uniqueSessionId'])
@Index('session_created', ['createdAt', 'id'])
@Index('session_place', ['mediaNodeId', 'mediaNodeBootId'], { where: 'media_node_id IS NOT NULL' })
@Index('session_ends_at', ['endsAt'], { where: 'ends_at IS NOT NULL' })
@Check('session_whole_place', '(media_node_id IS NULL) = (media_node_boot_id IS NULL)')
export class SessionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'session_pk' })
  id!: string

  /** Distinguishes two uses of one custom id. Also the id of the session's room on the media node. */
  @Column({ name: 'unique_id', type: 'text' })
  uniqueSessionId!: string

  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  @Column({ name: 'media_mode', type: 'text' })
  mediaMode!: 'ROUTED' | 'RELAYED'

  @Column({ name: 'recording_mode', type: 'text' })
  recordingMode!: 'ALWAYS' | 'MANUAL'

  @Column({ name: 'has_custom_id', type: 'boolean' })
  hasCustomId!: boolean

  @Column({ name: 'forced_video_codec', type: 'text' })
  forcedVideoCodec!: ForcedVideoCodec

  @Column({ name: 'allow_transcoding', type: 'boolean' })
  allowTranscoding!: boolean

  @Column({ name: 'recording_properties', type: 'jsonb' })
  recordingProperties!: RecordingProperties

  @Column({ name: 'forced_node_id', type: 'text', nullable: true })
  forcedNodeId!: string | null

  /** Null until the first user joins. */
  @Column({ name: 'media_node_id', type: 'text', nullable: true })
  mediaNodeId!: string | null

  /** Boot of the node's process that holds the room. */
  @Column({ name: 'media_node_boot_id', type: 'text', nullable: true })
  mediaNodeBootId!: string | null

  /** How often the session was placed on a media node. */
  @Column({ name: 'media_epoch', type: 'integer', default: 0 })
  mediaEpoch!: number

  /** Its media was lost at least once. Since then the forced node is preferred and no longer required. */
  @Column({ name: 'media_moved', type: 'boolean', default: false })
  mediaMoved!: boolean

  /** The automatic recording of mode ALWAYS was created. There is one per session, also when it fails. */
  @Column({ name: 'was_recorded', type: 'boolean', default: false })
  wasRecorded!: boolean

  /** The automatic recording was refused before, with an event: later publications try again without one. */
  @Column({ name: 'recording_refused', type: 'boolean', default: false })
  recordingRefused!: boolean

  /** Its last client has left before, and a recording kept it. */
  @Column({ name: 'was_emptied', type: 'boolean', default: false })
  wasEmptied!: boolean

  /** A client has left, and others were present or joining. A recording that keeps the session resets it. */
  @Column({ name: 'was_left', type: 'boolean', default: false })
  wasLeft!: boolean

  /** The language in which the whole session is transcribed. */
  @Column({ name: 'transcription_lang', type: 'text', nullable: true })
  transcriptionLang!: string | null

  /** Participants that join at most; null: no limit. */
  @Column({ name: 'max_participants', type: 'integer', nullable: true })
  maxParticipants!: number | null

  /** Streams that a participant publishes at most; null: no limit. */
  @Column({ name: 'max_streams', type: 'integer', nullable: true })
  maxStreams!: number | null

  /** Seconds after the first join; null: no limit. */
  @Column({ name: 'max_duration', type: 'integer', nullable: true })
  maxDuration!: number | null

  /** Its end by `maxDuration`; null until the first join. */
  @Column({ name: 'ends_at', type: 'timestamptz', nullable: true })
  endsAt!: Date | null

  /** The time of its last event; of its creation while events are off. */
  @Column({ name: 'told_at', type: 'bigint', default: 0 })
  lastEventAt!: number
}
