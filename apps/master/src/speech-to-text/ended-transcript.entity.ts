import { Column, Entity, PrimaryColumn } from 'typeorm'

/** A session that has ended and whose event `transcriptReady` is to come, if it has sentences. */
@Entity('ended_transcript')
export class EndedTranscriptEntity {
  @PrimaryColumn({ name: 'unique_session_id', type: 'text', primaryKeyConstraintName: 'ended_transcript_pk' })
  uniqueSessionId!: string

  /** By the clock of the database. */
  @Column({ name: 'ended_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  endedAt!: Date
}
