import { Column, Entity, PrimaryColumn } from 'typeorm'

/** A running master, as it last said; one that has not for a while is dead and its sockets are gone. */
@Entity('master')
export class MasterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'master_pk' })
  id!: string

  @Column({ name: 'alive_at', type: 'timestamptz' })
  aliveAt!: Date

  /** Where it is reached, as `GET health` shows it. */
  @Column({ type: 'text', default: '' })
  uri!: string

  /** Media nodes of the cluster that it hears. */
  @Column({ name: 'nodes_heard', type: 'integer', default: 0 })
  nodesHeard!: number

  /** Restart whose configuration it serves; null before it serves. */
  @Column({ type: 'bigint', nullable: true })
  generation!: number | null
}
