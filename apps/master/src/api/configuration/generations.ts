import { ConfigurationRollback } from '@session-service/contract'
import type { DataSource } from 'typeorm'
import type { EventLog, Manager } from '../../events/event-log.js'
import { configurationRolledBack } from '../../events/event-drafts.js'
import { lockRestarts, NOW_MS, type StoredOverrides } from '../../platform/config/overrides.js'

/** The overrides of one restart, as they are stored. */
export interface Candidate {
  generation: number
  stored: StoredOverrides
  /** Whether a master has served with them. */
  hasServed: boolean
}

export interface Rollback {
  failed: Candidate
  restored: Candidate
  properties: string[]
  reason: string
}

/** Earlier sets that are tried at most, besides the environment alone. */
const MAX_EARLIER = 3
/** A restart is on trial for this long, ms: until then one master that cannot serve it rolls all of them back. */
const TRIAL_MS = 300_000
/** A master that has not written for this long does not count as serving. */
const ALIVE_SECONDS = 5

export async function currentGeneration(dataSource: DataSource): Promise<Candidate> {
  const [row] = await dataSource.query<Candidate[]>(
    `SELECT coalesce(r.id, 0) AS generation, r.id IS NULL OR r.served_at IS NOT NULL AS "hasServed",
            coalesce((SELECT json_object_agg(name, value) FROM config_override), '{}') AS stored
     FROM (SELECT 1) one LEFT JOIN restart r ON r.id = (SELECT max(id) FROM restart)`,
  )
  return row ?? { generation: 0, stored: {}, hasServed: true }
}

const sameSet = (one: StoredOverrides, other: StoredOverrides): boolean => {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => one[name] === other[name])
}

/** Names of the properties whose stored values differ. */
export const changedNames = (one: StoredOverrides, other: StoredOverrides): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]).toSorted()

/** Sets that served before the candidate, latest first, and in the end the environment alone; none is the candidate's. */
export async function earlierSets(dataSource: DataSource, { generation, stored }: Candidate): Promise<Candidate[]> {
  const rows = await dataSource.query<Candidate[]>(
    `SELECT id AS generation, overrides AS stored, true AS "hasServed" FROM restart
     WHERE id < $1 AND served_at IS NOT NULL AND overrides IS NOT NULL ORDER BY id DESC LIMIT 20`,
    [generation],
  )
  const environment: Candidate = { generation: 0, stored: {}, hasServed: true }
  const distinct: Candidate[] = []
  for (const row of rows)
    if (distinct.length < MAX_EARLIER && ![{ stored }, ...distinct].some((known) => sameSet(known.stored, row.stored)))
      distinct.push(row)
  return [...distinct, environment].filter(
    (one, index, all) =>
      !sameSet(one.stored, stored) && all.findIndex((other) => sameSet(other.stored, one.stored)) === index,
  )
}

/** Whether a master that cannot serve the generation may roll all masters back: others that serve it count, except while it is on trial. */
export async function mayRollBack(dataSource: DataSource, { generation }: Candidate): Promise<boolean> {
  const [row] = await dataSource.query<{ allowed: boolean }[]>(
    `SELECT coalesce((SELECT max(requested_at) FROM restart WHERE id = $1) > ${NOW_MS} - $2, false)
         OR NOT EXISTS (SELECT 1 FROM master WHERE generation = $1
                        AND alive_at > clock_timestamp() - $3 * interval '1 second') AS allowed`,
    [generation, TRIAL_MS, ALIVE_SECONDS],
  )
  return row?.allowed ?? false
}

/** Notes that the master serves the generation: it is one to return to. */
export async function markServed(dataSource: Manager, masterId: string, candidate: Candidate): Promise<void> {
  await dataSource.query(
    `UPDATE restart SET served_at = coalesce(served_at, ${NOW_MS}), overrides = $2::jsonb WHERE id = $1`,
    [candidate.generation, JSON.stringify(candidate.stored)],
  )
  await dataSource.query('UPDATE master SET generation = $2 WHERE id = $1', [masterId, candidate.generation])
}

/**
 * Makes the restored set the newest generation and records the event. Gives its generation, also when another master
 * has done the same before; undefined when another restart came meanwhile.
 */
export function saveRollback(
  events: EventLog,
  clusterId: string,
  { failed, restored, properties, reason }: Rollback,
): Promise<number | undefined> {
  return events.transaction(async (manager, record) => {
    await lockRestarts(manager)
    const [latest] = await manager.query<{ id: number; rollback: { from: number; to: number } | null; now: number }[]>(
      `SELECT coalesce(max(id), 0) AS id, (SELECT rollback FROM restart ORDER BY id DESC LIMIT 1) AS rollback,
              ${NOW_MS}::bigint AS now FROM restart`,
    )
    if (!latest) return undefined
    if (latest.id !== failed.generation) {
      const isSame = latest.rollback?.from === failed.generation && latest.rollback.to === restored.generation
      return isSame ? latest.id : undefined
    }
    const facts = { at: latest.now, properties, reason }
    const rollback = JSON.stringify({ ...facts, from: failed.generation, to: restored.generation })
    const stored = JSON.stringify(restored.stored)
    await manager.query('DELETE FROM config_override')
    await manager.query('INSERT INTO config_override (name, value) SELECT key, value FROM jsonb_each_text($1::jsonb)', [
      stored,
    ])
    const [made] = await manager.query<{ id: number }[]>(
      `INSERT INTO restart (requested_at, overrides, rollback) VALUES (${NOW_MS}, $1::jsonb, $2::jsonb) RETURNING id`,
      [stored, rollback],
    )
    await record(configurationRolledBack(clusterId, facts))
    return made?.id
  })
}

/** The rollback that is in force; undefined when the latest restart was none. */
export async function latestRollback(dataSource: DataSource): Promise<ConfigurationRollback | undefined> {
  const [row] = await dataSource.query<{ rollback: unknown }[]>('SELECT rollback FROM restart ORDER BY id DESC LIMIT 1')
  return row?.rollback == null ? undefined : ConfigurationRollback.parse(row.rollback)
}
