import type { ForcedVideoCodec, RecordingProperties } from '@session-service/contract'
import { Check, Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm'

/** A live session; the row goes when the session ends. Times in UTC ms. */
@Entity('session')
@Unique('session_unique_id', ['uniqueSessionId'])
@Index('session_created', ['createdAt', 'id'])
@Index('session_place', ['mediaNodeId', 'mediaNodeBootId'], { where: 'media_node_id IS NOT NULL' })
@Check('session_whole_place', '(media_node_id IS NULL) = (media_node_boot_id IS NULL)')
export class SessionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'session_pk' })
  id!: string

  /** Tells two uses of one custom id apart; also the id of its room on the media node. */
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

  /** Which start of the node's process holds the room. */
  @Column({ name: 'media_node_boot_id', type: 'text', nullable: true })
  mediaNodeBootId!: string | null

  /** How often the session was placed on a media node. */
  @Column({ name: 'media_epoch', type: 'integer', default: 0 })
  mediaEpoch!: number

  /** Its media was lost at least once: the node it was forced onto is preferred since, and no longer required. */
  @Column({ name: 'media_moved', type: 'boolean', default: false })
  mediaMoved!: boolean

  /** Its recording mode ALWAYS has had its one recording, however that went. */
  @Column({ name: 'was_recorded', type: 'boolean', default: false })
  wasRecorded!: boolean

  /** When its last event was; stays 0 where nobody is told of events. */
  @Column({ name: 'told_at', type: 'bigint', default: 0 })
  toldAt!: number
}
