import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** A call that bears an `Idempotency-Key`. Neither the key nor what was answered, a token say, can be read from it. */
@Entity('idempotent_call')
@Index('idempotent_call_age', ['askedAt'])
export class IdempotentCallEntity {
  /** A digest. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotent_call_pk' })
  key!: string

  /** A digest of method, address and body. */
  @Column({ type: 'text' })
  request!: string

  /** Which master does, or did, what is asked. */
  @Column({ name: 'master_id', type: 'text' })
  masterId!: string

  /** Which of the times it came it is done for. */
  @Column({ type: 'text' })
  claim!: string

  @Column({ name: 'asked_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  askedAt!: Date

  /** Sealed; null while it is under way. */
  @Column({ type: 'text', nullable: true })
  answer!: string | null
}
