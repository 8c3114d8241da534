import { Column, Entity, PrimaryColumn } from 'typeorm'

/** A running master, which renews its row. A master whose row is outdated is dead, and its sockets are closed. */
@Entity('master')
export class MasterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'master_pk' })
  id!: string

  @Column({ name: 'alive_at', type: 'timestamptz' })
  aliveAt!: Date

  /** Public URL, shown by `GET health`. */
  @Column({ type: 'text', default: '' })
  uri!: string

  /** Number of registered media nodes whose heartbeats it receives. */
  @Column({ name: 'nodes_heard', type: 'integer', default: 0 })
  nodesHeard!: number

  /** Restart whose configuration it serves; null before it serves. */
  @Column({ type: 'bigint', nullable: true })
  generation!: number | null
}
