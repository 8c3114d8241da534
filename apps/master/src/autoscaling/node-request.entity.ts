import { Column, Entity, PrimaryColumn } from 'typeorm'

/** The last request of media nodes from the operator; at most one row. */
@Entity('node_request')
export class NodeRequestEntity {
  @PrimaryColumn({ type: 'boolean', default: true, primaryKeyConstraintName: 'node_request_pk' })
  id!: boolean

  /** The number of nodes that were to start. */
  @Column({ type: 'integer' })
  count!: number

  /** The ids of the nodes that were present. */
  @Column({ name: 'node_ids', type: 'text', array: true })
  nodeIds!: string[]

  @Column({ name: 'requested_at', type: 'timestamptz', default: () => 'clock_timestamp()' })
  requestedAt!: Date
}
