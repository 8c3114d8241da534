import { Column, Entity, PrimaryColumn } from 'typeorm'

/** A property that `POST restart` changed, with its text as in an environment; secrets are sealed. */
@Entity('config_override')
export class ConfigOverrideEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'config_override_pk' })
  name!: string

  @Column({ type: 'text' })
  value!: string
}

/** The id of the cluster where none is configured; one row. */
@Entity('cluster')
export class ClusterEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'cluster_pk' })
  id!: string
}

/** A requested restart; the highest id is the generation that every master has to serve. */
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

  /** All overrides that masters served it with, by name, as in `config_override`; null before. */
  @Column({ type: 'jsonb', nullable: true })
  overrides!: Record<string, string> | null

  /** When a master served it first, UTC ms; null until then. */
  @Column({ name: 'served_at', type: 'bigint', nullable: true })
  servedAt!: number | null

  /** For a rollback: the restart that could not be served, the one restored, when and why. */
  @Column({ type: 'jsonb', nullable: true })
  rollback!: Record<string, unknown> | null
}
