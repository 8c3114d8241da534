import { z } from 'zod'
import { Id } from '../ids.js'

/** On `masters.restart`: the configuration has a new generation, every master is to take it over. */
export const RestartCall = z.object({ generation: z.number().int() })

/** UP: all media nodes are there; UNSTABLE: some are; DOWN: none is, or what the master stands on is not. */
export const HealthStatus = z.enum(['UP', 'UNSTABLE', 'DOWN'])
export type HealthStatus = z.infer<typeof HealthStatus>

/** A restart that no master could serve: the configuration that served before it is in force again. */
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

/** `GET health` where there are several masters. */
export const ClusterHealth = z.object({
  clusterStatus: HealthStatus.describe('UP, UNSTABLE or DOWN'),
  nodes: z
    .record(z.string(), MasterHealth.omit({ configurationRollback: true }).extend({ id: z.string(), uri: z.string() }))
    .describe('Health of each master, by its identifier'),
  ...rollback,
})
export type ClusterHealth = z.infer<typeof ClusterHealth>

/** How one master tells another of its health, on `master.<id>.health`: `[params, result, deadline in ms]`. */
export const MASTER_HEALTH_RPC = [z.object({}), MasterHealth, 1_500] as const

/**
 * What a master tells the others on `placed.<nodeId>` when it has chosen the node for a session: until the node's next
 * heartbeat nobody else would know.
 */
export const Placed = z.object({
  masterId: z.string(),
  nodeId: Id,
  bootId: Id,
  /** What the session is taken to cost, percent of one core. */
  cost: z.number().nonnegative(),
})
export type Placed = z.infer<typeof Placed>
