import { ConfigurationRollback } from '@session-service/contract'
import type { DataSource, EntityManager } from 'typeorm'
import type { EventLog } from '../../events/event-log.js'
import { configurationRolledBack } from '../../events/event-drafts.js'
import {
  insertRestart,
  latestRestart,
  lockRestarts,
  markRestartServed,
  NOW_MS,
  replaceOverrides,
  servedRestarts,
  type StoredOverrides,
} from '../../platform/config/restarts.js'
import { execute, firstRow } from '../../platform/database/sql.js'

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

/** The latest restart, and the database's time, UTC ms. */
interface LatestRestart {
  id: number
  rollback: { from: number; to: number } | null
  now: number
}

/** Earlier sets that are tried at most, besides the environment alone. */
const MAX_EARLIER = 3
/** Restarts that are read to find the earlier sets: several may have had the same overrides. */
const MAX_READ = 20
/** A restart is on trial for this long, ms: until then one master that cannot serve it rolls all of them back. */
const TRIAL_MS = 300_000
/** A master whose row was not renewed for this long does not count as serving, s. */
const ALIVE_SECONDS = 5

/** The overrides that the next start uses. */
export async function currentGeneration(dataSource: DataSource): Promise<Candidate> {
  // One statement, so that the overrides are those of the restart.
  const row = await firstRow<Candidate>(
    dataSource,
    `SELECT coalesce(r.id, 0) AS generation, r.id IS NULL OR r.served_at IS NOT NULL AS "hasServed",
            coalesce((SELECT json_object_agg(name, value) FROM config_override), '{}') AS stored
     FROM (SELECT 1) one LEFT JOIN restart r ON r.id = (SELECT max(id) FROM restart)`,
  )
  return row ?? { generation: 0, stored: {}, hasServed: true }
}

/** Names of the properties whose stored values differ. */
export const changedNames = (one: StoredOverrides, other: StoredOverrides): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]).toSorted()

const isSameSet = (one: StoredOverrides, other: StoredOverrides): boolean => changedNames(one, other).length === 0

/** Sets that served before the candidate, latest first, and last the environment alone; none equals the candidate's. */
export async function earlierSets(dataSource: DataSource, { generation, stored }: Candidate): Promise<Candidate[]> {
  const distinct: Candidate[] = []
  const isNew = ({ stored: set }: { stored: StoredOverrides }): boolean =>
    ![{ stored }, ...distinct].some((known) => isSameSet(known.stored, set))
  for (const served of await servedRestarts(dataSource, generation, MAX_READ))
    if (distinct.length < MAX_EARLIER && isNew(served)) distinct.push({ ...served, hasServed: true })
  const environment: Candidate = { generation: 0, stored: {}, hasServed: true }
  return isNew(environment) ? [...distinct, environment] : distinct
}

/**
 * Whether a master that cannot serve the generation may roll all masters back: not while others serve it, except while
 * it is on trial.
 */
export async function mayRollBack(dataSource: DataSource, { generation }: Candidate): Promise<boolean> {
  // Two tables, both compared with the database's clock.
  const row = await firstRow<{ allowed: boolean }>(
    dataSource,
    `SELECT coalesce((SELECT max(requested_at) FROM restart WHERE id = $1) > ${NOW_MS} - $2, false)
         OR NOT EXISTS (SELECT 1 FROM master WHERE generation = $1
                        AND alive_at > clock_timestamp() - $3 * interval '1 second') AS allowed`,
    [generation, TRIAL_MS, ALIVE_SECONDS],
  )
  return row?.allowed ?? false
}

/** Stores that the master serves the generation, so that a later rollback may return to it. */
export async function markServed(
  manager: EntityManager,
  masterId: string,
  { generation, stored }: Candidate,
): Promise<void> {
  await markRestartServed(manager, generation, stored)
  await execute(manager, 'UPDATE master SET generation = $2 WHERE id = $1', [masterId, generation])
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
    const latest = await firstRow<LatestRestart>(
      manager,
      `SELECT coalesce(max(id), 0) AS id, (SELECT rollback FROM restart ORDER BY id DESC LIMIT 1) AS rollback,
              ${NOW_MS} AS now FROM restart`,
    )
    if (!latest) return undefined
    if (latest.id !== failed.generation) {
      const isSame = latest.rollback?.from === failed.generation && latest.rollback.to === restored.generation
      return isSame ? latest.id : undefined
    }
    const facts = { at: latest.now, properties, reason }
    await replaceOverrides(manager, restored.stored)
    const rollback = { ...facts, from: failed.generation, to: restored.generation }
    const id = await insertRestart(manager, { overrides: restored.stored, rollback })
    await record(configurationRolledBack(clusterId, facts))
    return id
  })
}

/** The rollback that is in force; undefined when the latest restart was none. */
export async function latestRollback(dataSource: DataSource): Promise<ConfigurationRollback | undefined> {
  const latest = await latestRestart(dataSource)
  return latest?.rollback == null ? undefined : ConfigurationRollback.parse(latest.rollback)
}
