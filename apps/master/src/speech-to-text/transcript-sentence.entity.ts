import type { SpokenWord } from '@session-service/contract'
import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** A recognized sentence. It outlives its session. Times in UTC ms. */
@Entity('transcript_sentence')
@Index('transcript_sentence_use', ['uniqueSessionId', 'startTime', 'id'])
@Index('transcript_sentence_session', ['sessionId', 'startTime', 'id'])
@Index('transcript_sentence_time', ['startTime', 'id'])
@Index('transcript_sentence_lang', ['lang', 'startTime', 'id'])
@Index('transcript_sentence_age', ['storedAt'])
@Index('transcript_sentence_words', ['search'], { type: 'gin' })
export class TranscriptSentenceEntity {
  /** The id of the report of the media node, so that a repeated report is stored once. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'transcript_sentence_pk' })
  id!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @Column({ name: 'unique_session_id', type: 'text' })
  uniqueSessionId!: string

  @Column({ name: 'connection_id', type: 'text' })
  connectionId!: string

  /** The data of the connection when it spoke; empty when it had left and its media node is of a former version. */
  @Column({ name: 'client_data', type: 'text' })
  clientData!: string

  @Column({ name: 'stream_id', type: 'text' })
  streamId!: string

  @Column({ type: 'text' })
  lang!: string

  @Column({ type: 'text' })
  text!: string

  /** The words of `text`, for the full-text search. */
  @Column({ type: 'tsvector', select: false })
  search!: string

  @Column({ name: 'start_time', type: 'bigint' })
  startTime!: number

  @Column({ name: 'end_time', type: 'bigint', nullable: true })
  endTime!: number | null

  @Column({ type: 'jsonb', nullable: true })
  words!: SpokenWord[] | null

  /** By the clock of the database; the retention counts from it. */
  @Column({ name: 'stored_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  storedAt!: Date
}
