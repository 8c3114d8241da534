import type { DataSource, EntityManager } from 'typeorm'
import { IsNull, LessThan, Not } from 'typeorm'
import { execute, firstRow, type Queryable } from '../database/sql.js'
import { ConfigOverrideEntity, RestartEntity } from './configuration.entities.js'

/** Any number that nothing else in the database locks. */
const RESTART_LOCK = 7_230_003

/** Overrides by name, as the database has them: secrets are sealed. */
export type StoredOverrides = Readonly<Record<string, string>>

/** UTC ms by the database's clock. */
export const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** The restart with the highest id; undefined before the first one. */
export async function latestRestart(dataSource: DataSource): Promise<RestartEntity | undefined> {
  const [restart] = await dataSource.getRepository(RestartEntity).find({ order: { id: 'DESC' }, take: 1 })
  return restart
}

/** The generation of the newest configuration; 0 before the first restart. */
export const latestGeneration = async (manager: EntityManager): Promise<number> =>
  (await manager.maximum(RestartEntity, 'id')) ?? 0

/** At most `limit` restarts before `generation` that a master has served, latest first. */
export async function servedRestarts(
  dataSource: DataSource,
  generation: number,
  limit: number,
): Promise<{ generation: number; stored: StoredOverrides }[]> {
  const restarts = await dataSource.getRepository(RestartEntity).find({
    where: { id: LessThan(generation), servedAt: Not(IsNull()), overrides: Not(IsNull()) },
    order: { id: 'DESC' },
    take: limit,
  })
  return restarts.map(({ id, overrides }) => ({ generation: id, stored: overrides ?? {} }))
}

/** Until the transaction ends no other one adds a restart. */
export async function lockRestarts(queryable: Queryable): Promise<void> {
  await execute(queryable, 'SELECT pg_advisory_xact_lock($1)', [RESTART_LOCK])
}

/** Adds a restart and gives its generation. Hand-written, because its time is the database's. */
export async function insertRestart(
  queryable: Queryable,
  { overrides, rollback }: { overrides?: StoredOverrides; rollback?: object } = {},
): Promise<number> {
  const inserted = await firstRow<Pick<RestartEntity, 'id'>>(
    queryable,
    `INSERT INTO restart (requested_at, overrides, rollback) VALUES (${NOW_MS}, $1, $2) RETURNING id`,
    [overrides ?? null, rollback ?? null],
  )
  if (!inserted) throw new Error('the inserted restart has no id')
  return inserted.id
}

/** Stores that a master serves the restart, with which overrides, and when it was served first. */
export async function markRestartServed(
  manager: EntityManager,
  generation: number,
  stored: StoredOverrides,
): Promise<void> {
  const servedAt = (): string => `coalesce(served_at, ${NOW_MS})`
  await manager.update(RestartEntity, { id: generation }, { servedAt, overrides: stored })
}

/** Makes these the overrides of the next start, without any other. */
export async function replaceOverrides(manager: EntityManager, overrides: StoredOverrides): Promise<void> {
  await manager.deleteAll(ConfigOverrideEntity)
  await manager.insert(
    ConfigOverrideEntity,
    Object.entries(overrides).map(([name, value]) => ({ name, value })),
  )
}
