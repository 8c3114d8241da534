import { Column, Entity, PrimaryColumn } from 'typeorm'

/** What `POST restart` changed, as the environment would give it; secrets are sealed. */
@Entity('config_override')
export class ConfigOverrideEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'config_override_pk' })
  name!: string

  @Column({ type: 'text' })
  value!: string
}

/** The cluster's name for whoever was given none. */
@Entity('cluster')
export class ClusterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'cluster_pk' })
  id!: string
}

/** Each restart that was asked for; the latest id is the generation every master is to run. */
@Entity('restart')
export class RestartEntity {
  @PrimaryColumn({
    type: 'bigint',
    primaryKeyConstraintName: 'restart_pk',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
  })
  id!: number

  /** UTC ms by the database's clock. */
  @Column({ name: 'requested_at', type: 'bigint' })
  requestedAt!: number

  /** All overrides it served with, by name, as in `config_override`. */
  @Column({ type: 'jsonb', nullable: true })
  overrides!: Record<string, string> | null

  /** UTC ms at which a master served it first; null until then. */
  @Column({ name: 'served_at', type: 'bigint', nullable: true })
  servedAt!: number | null

  /** Of a rollback: the restart that could not be served, the one restored, when and why. */
  @Column({ type: 'jsonb', nullable: true })
  rollback!: Record<string, unknown> | null
}
