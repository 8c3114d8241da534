import { Column, Entity, Index, PrimaryColumn } from 'typeorm'

/** A call with an `Idempotency-Key`. Neither the key nor the answer, for example a token, can be read from the row. */
@Entity('idempotent_call')
@Index('idempotent_call_age', ['askedAt'])
export class IdempotentCallEntity {
  /** A digest of the key. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotent_call_pk' })
  key!: string

  /** A digest of method, address and body. */
  @Column({ type: 'text' })
  request!: string

  /** The master that carries the call out, or did. */
  @Column({ name: 'master_id', type: 'text' })
  masterId!: string

  /** Identifies the request, among those with this key, for which the call is carried out. */
  @Column({ type: 'text' })
  claim!: string

  @Column({ name: 'asked_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  askedAt!: Date

  /** Sealed; null while the call is in progress. */
  @Column({ type: 'text', nullable: true })
  answer!: string | null
}
