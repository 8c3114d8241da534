import { z } from 'zod'
import { Id } from '../ids.js'

/** Sent on `masters.restart`: the configuration has a new generation, which every master must load. */
export const RestartCall = z.object({ generation: z.number().int() })

/** UP: all media nodes are connected; UNSTABLE: some are; DOWN: none is, or the database or the bus is unavailable. */
export const HealthStatus = z.enum(['UP', 'UNSTABLE', 'DOWN'])
export type HealthStatus = z.infer<typeof HealthStatus>

/** A failed restart: no master could start with the new configuration, so the previous one is in force again. */
export const ConfigurationRollback = z.object({
  at: z.number().describe('When, in UTC milliseconds'),
  properties: z.array(z.string()).describe('The properties at fault, or all that the restart changed'),
  reason: z.string().describe('What kept the configuration from being served'),
})
export type ConfigurationRollback = z.infer<typeof ConfigurationRollback>

const rollback = {
  configurationRollback: ConfigurationRollback.optional().describe(
    'Present when no master could serve the latest restart, until the next one',
  ),
}

export const MasterHealth = z.object({
  status: HealthStatus.describe('UP, UNSTABLE or DOWN'),
  disconnectedMediaNodes: z.array(z.string()).describe('Identifiers of the media nodes that are missing'),
  ...rollback,
})
export type MasterHealth = z.infer<typeof MasterHealth>

/** The answer to `GET health` in a cluster of several masters. */
export const ClusterHealth = z.object({
  clusterStatus: HealthStatus.describe('UP, UNSTABLE or DOWN'),
  nodes: z
    .record(z.string(), MasterHealth.omit({ configurationRollback: true }).extend({ id: z.string(), uri: z.string() }))
    .describe('Health of each master, by its identifier'),
  ...rollback,
})
export type ClusterHealth = z.infer<typeof ClusterHealth>

/** The request for the health of a master, on `master.<id>.health`: `[params, result, deadline in ms]`. */
export const MASTER_HEALTH_RPC = [z.object({}), MasterHealth, 1_500] as const

/** Sent on `master.<id>.dead`: its row was not renewed, and its participants have to resume at other masters. */
export const MasterDead = z.object({})

/**
 * Sent on `placed.<nodeId>` by a master that has chosen the node for a session, so that the other masters count it before
 * the node's next heartbeat.
 */
export const Placed = z.object({
  masterId: z.string(),
  nodeId: Id,
  bootId: Id,
  /** The estimated cost of the session, percent of one core. */
  cost: z.number().nonnegative(),
})
export type Placed = z.infer<typeof Placed>
