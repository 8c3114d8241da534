import { ConfigError, type Environment, PROPERTIES, type Property } from '@session-service/config'
import { ServiceError } from '@session-service/contract'
import type { DataSource, EntityManager } from 'typeorm'
import { seal, unseal } from './sealed.js'

/** Any number that nothing else in the database locks. */
const RESTART_LOCK = 7_230_003

/** Overrides by name, as the database has them: secrets are sealed. */
export type StoredOverrides = Readonly<Record<string, string>>

/** UTC ms by the database's clock. */
export const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** What restarts have changed so far; `generation` counts them. */
export interface Overrides {
  generation: number
  values: Readonly<Record<string, string>>
}

const isSecret = (name: string): boolean =>
  name in PROPERTIES && (PROPERTIES as Record<string, Property>)[name]?.secret === true

/** What overrides are sealed with: the secret of the environment, which no restart changes. */
const keyOf = (env: Environment): string => env.SERVICE_SECRET?.trim() ?? ''

/** @throws ConfigError when a secret was stored under another SERVICE_SECRET */
export function readOverrides(stored: StoredOverrides, env: Environment): Record<string, string> {
  const values: Record<string, string> = {}
  const problems: string[] = []
  for (const [name, text] of Object.entries(stored)) {
    const value = isSecret(name) ? unseal(text, keyOf(env)) : text
    if (value === undefined) problems.push(`${name}: the stored override cannot be read with this SERVICE_SECRET`)
    else values[name] = value
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values
}

/** The overrides with a name for the cluster, permanent and the same for all masters, where none is configured. */
export async function withClusterId(
  dataSource: DataSource,
  env: Environment,
  overrides: Environment,
): Promise<Environment> {
  if ({ ...env, ...overrides }.SERVICE_PRO_CLUSTER_ID?.trim()) return overrides
  const [cluster] = await dataSource.query<{ id: string }[]>('SELECT id FROM cluster')
  return { ...overrides, SERVICE_PRO_CLUSTER_ID: cluster?.id }
}

export async function latestRestart(dataSource: DataSource): Promise<{ generation: number; requestedAt: number }> {
  const [row] = await dataSource.query<{ id: number; requestedAt: number }[]>(
    'SELECT id, requested_at AS "requestedAt" FROM restart ORDER BY id DESC LIMIT 1',
  )
  return { generation: row?.id ?? 0, requestedAt: row?.requestedAt ?? 0 }
}

/** Until the transaction ends no other one adds a restart. */
export async function lockRestarts(manager: Pick<EntityManager, 'query'>): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock($1)', [RESTART_LOCK])
}

/** Stores the changes and gives their generation. @throws ServiceError CONFLICT when another restart came first */
export function saveOverrides(
  dataSource: DataSource,
  env: Environment,
  changes: Readonly<Record<string, string>>,
  basedOn: number,
): Promise<number> {
  const stored = Object.entries(changes).map(([name, value]) => ({
    name,
    value: isSecret(name) ? seal(value, keyOf(env)) : value,
  }))
  return newGeneration(dataSource, basedOn, (manager) =>
    manager.query(
      `INSERT INTO config_override (name, value)
       SELECT r.name, r.value FROM jsonb_to_recordset($1::jsonb) AS r(name text, value text)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [JSON.stringify(stored)],
    ),
  )
}

/** Removes overrides and gives the new generation. @throws ServiceError CONFLICT when another restart came first */
export const removeOverrides = (dataSource: DataSource, names: readonly string[], basedOn: number): Promise<number> =>
  newGeneration(dataSource, basedOn, (manager) =>
    manager.query('DELETE FROM config_override WHERE name = ANY($1)', [names]),
  )

function newGeneration(
  dataSource: DataSource,
  basedOn: number,
  change: (manager: EntityManager) => Promise<unknown>,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    await lockRestarts(manager)
    const [latest] = await manager.query<{ id: number }[]>('SELECT coalesce(max(id), 0) AS id FROM restart')
    if (latest?.id !== basedOn) throw new ServiceError('CONFLICT', 'another restart is under way')
    await change(manager)
    const [made] = await manager.query<{ id: number }[]>(
      `INSERT INTO restart (requested_at) VALUES (${NOW_MS}) RETURNING id`,
    )
    if (!made) throw new Error('an inserted row has an id')
    return made.id
  })
}
