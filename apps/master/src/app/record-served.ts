import { metrics, type ServiceLogger } from '@session-service/server-kit'
import { markServed, type Rollback, saveRollback } from '../api/configuration/generations.js'
import { EventLog } from '../events/event-log.js'
import { MasterMembership } from '../media-nodes/master-membership.js'
import type { Served } from './serve-with-fallback.js'
import type { StartedApplication } from './start-application.js'

const rollbacks = metrics.counter('configuration_rollbacks_total', {
  help: 'Restarts that this master could not serve and rolled back',
  labels: {},
})

/** Stores the configuration that is served, so that all masters agree. A failure is logged; the application goes on. */
export async function recordServed(served: Served<StartedApplication>, logger: ServiceLogger): Promise<void> {
  const { instance, candidate, rollback } = served
  const { dataSource, masterId, origin } = instance.infrastructure
  try {
    const generation = rollback ? await recordRollback(instance, rollback, logger) : origin.overrides.generation
    if (generation === undefined) return
    instance.app.get(MasterMembership).serves(generation)
    await markServed(dataSource.manager, masterId, { ...candidate, generation })
  } catch (error) {
    logger.error({ err: error }, 'storing which configuration is served failed')
  }
}

/** The new generation; undefined when another restart came meanwhile, which this master serves at its next check. */
async function recordRollback(
  { app, infrastructure }: StartedApplication,
  rollback: Rollback,
  logger: ServiceLogger,
): Promise<number | undefined> {
  const { properties, reason, failed, restored } = rollback
  const { overrides } = infrastructure.origin
  // Set before the rollback is stored, so that this master does not restart for the generation that failed.
  overrides.generation = failed.generation
  const generation = await saveRollback(app.get(EventLog), infrastructure.config.SERVICE_PRO_CLUSTER_ID, rollback)
  if (generation === undefined) return undefined
  overrides.generation = generation
  rollbacks.inc({})
  logger.error(
    { properties, reason },
    `restart ${failed.generation} was rolled back to the configuration of restart ${restored.generation}: ${properties.join(', ')}`,
  )
  return generation
}
