import { setTimeout } from 'node:timers/promises'
import { newSecret } from '@session-service/contract'
import {
  ConfigError,
  configAdvice,
  type Environment,
  loadMasterConfig,
  overriddenConfig,
  withoutEffect,
} from '@session-service/config'
import { Bus, reportBusProblems } from '@session-service/messaging'
import {
  createLogger,
  metrics,
  OpsService,
  type ServiceLogger,
  dropPrivileges,
  translateDatabaseError,
} from '@session-service/server-kit'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import type { DataSource } from 'typeorm'
import { runAsOptions } from './run-as-options.js'
import { boundHooks } from './bound-hooks.js'
import { withDeadline } from '../platform/config/deadline.js'
import {
  type Candidate,
  changedNames,
  currentGeneration,
  earlierSets,
  markServed,
  mayRollBack,
  saveRollback,
} from '../api/configuration/generations.js'
import { type Generation, Lifecycle } from '../platform/config/lifecycle.js'
import { readOverrides, withClusterId } from '../platform/config/overrides.js'
import { type Served, serveWithFallback } from './serve-with-fallback.js'
import { verifyConfig } from '../api/configuration/verify-config.js'
import { createApplication } from './create-application.js'
import { ENTITIES } from './entities.js'
import { createDataSource } from '../platform/database/data-source.js'
import { migrate } from '../platform/database/migrate.js'
import { EventLog } from '../events/event-log.js'
import type { Infrastructure } from './master.module.js'
import { SignallingGateway } from '../signalling/gateway/signalling.gateway.js'

/** A service that is not there yet is tried again this often, ms. */
const RETRY_MS = 1_000
/** Time for busy clients to let go of their connections: each gets one answer more, which says so, ms. */
const LEAST_DELAY_MS = 250
/** A step of the bootstrap that takes longer has failed, ms. The database and the bus are waited for instead. */
const STEP_MS = 15_000
/** All hooks together, ms: they run one module after another. */
const LISTEN_MS = 45_000
/** What cannot be closed by then is left, so that another configuration can be tried, ms. */
const CLOSE_MS = 10_000

const rollbacks = metrics.counter('configuration_rollbacks_total', {
  help: 'Restarts that this master could not serve and rolled back',
  labels: {},
})

interface Context {
  env: Environment
  lifecycle: Lifecycle
  logger: ServiceLogger
  signal: AbortSignal
}

/** Starts a master from its environment; resolves once it serves. It restarts in place when the API asks it to. */
export async function startMaster(env: Environment, signal: AbortSignal): Promise<{ close(): Promise<void> }> {
  const config = loadMasterConfig(env)
  const logger = createLogger({ level: config.SERVICE_LOG_LEVEL, format: config.SERVICE_LOG_FORMAT, name: 'master' })
  await dropPrivileges({ ...runAsOptions(config), logger })
  for (const advice of configAdvice('master', env)) logger.warn(advice)
  const lifecycle: Lifecycle = new Lifecycle(() => build({ env, lifecycle, logger, signal }), logger, signal)
  await lifecycle.start()
  return lifecycle
}

/** One application that serves, with what it stands on. */
interface Instance {
  app: NestFastifyApplication
  infrastructure: Infrastructure
  opened: AsyncDisposableStack
}

/** All of a master for the configuration as it is now; what was opened is closed again when it cannot be built. */
async function build(context: Context): Promise<Generation> {
  const { logger, signal } = context
  const opened = new AsyncDisposableStack()
  try {
    const dataSource = await openDatabase(context, opened)
    const latest = await untilReachable('the database', context, () => currentGeneration(dataSource))
    const served = await serveWithFallback(latest, {
      serve: (candidate) => serve(candidate, dataSource, context),
      earlier: (candidate) => earlierSets(dataSource, candidate),
      mayRollBack: (candidate) => mayRollBack(dataSource, candidate),
      isBlamed: (error) => !signal.aborted && translateDatabaseError(error)?.code !== 'UNAVAILABLE',
      logger,
    })
    const { app, infrastructure } = served.instance
    opened.use(served.instance.opened)
    await noteServed(served, dataSource, logger)
    const { config } = infrastructure
    logger.log(`master ${infrastructure.masterId} serves ${config.SERVICE_PUBLICURL}`)
    return {
      close: async () => {
        app.get(OpsService).setDraining()
        await setTimeout(Math.max(config.SERVICE_SHUTDOWN_DELAY * 1_000, LEAST_DELAY_MS))
        // Before what is under way is waited for, which may take long.
        await app.get(SignallingGateway).closeAllSockets()
        await opened.disposeAsync()
      },
    }
  } catch (error) {
    await dispose(opened, logger)
    throw error
  }
}

async function dispose(opened: AsyncDisposableStack, logger: ServiceLogger): Promise<void> {
  await withDeadline('closing', CLOSE_MS, () => opened.disposeAsync()).catch((cause: unknown) =>
    logger.warn({ err: cause }, 'not everything could be closed'),
  )
}

async function openDatabase(context: Context, opened: AsyncDisposableStack): Promise<DataSource> {
  const { DATABASE_URL: url } = loadMasterConfig(context.env)
  const dataSource = createDataSource(url, ENTITIES, (error) =>
    context.logger.warn({ err: error }, 'a database connection failed'),
  )
  await untilReachable('the database', context, () => dataSource.initialize())
  opened.defer(() => dataSource.destroy())
  await untilReachable('the schema', context, () => migrate(dataSource))
  return dataSource
}

/** Builds the application with the overrides and listens. */
async function serve(candidate: Candidate, dataSource: DataSource, context: Context): Promise<Instance> {
  const opened = new AsyncDisposableStack()
  try {
    const infrastructure = await openInfrastructure(candidate, dataSource, context, opened)
    const { config } = infrastructure
    const app = await withDeadline('creating the application', STEP_MS, () =>
      createApplication(infrastructure, context.logger),
    )
    opened.defer(() => app.close())
    boundHooks(app, STEP_MS)
    await withDeadline('starting the bus handlers', LISTEN_MS, () => app.startAllMicroservices())
    await withDeadline('listening', LISTEN_MS, () => app.listen(config.SERVICE_PORT, config.SERVICE_HOST))
    return { app, infrastructure, opened }
  } catch (error) {
    await dispose(opened, context.logger)
    throw error
  }
}

async function openInfrastructure(
  candidate: Candidate,
  dataSource: DataSource,
  { env, lifecycle, logger, signal }: Context,
  opened: AsyncDisposableStack,
): Promise<Infrastructure> {
  const masterId = `master_${newSecret(48)}`
  const values = readOverrides(candidate.stored, env)
  const config = overriddenConfig(env, await withClusterId(dataSource, env, values))
  for (const text of withoutEffect(Object.keys(values), config)) logger.warn(`override: ${text}`)
  if (!candidate.hasServed) {
    const [last] = await earlierSets(dataSource, candidate)
    const changed = changedNames(candidate.stored, last?.stored ?? {})
    const { problems } = await verifyConfig({ env, overrides: values, config, changed })
    if (problems.length > 0) throw new ConfigError(problems)
  }
  const bus = await Bus.connect({
    servers: config.NATS_URL,
    name: masterId,
    cluster: config.SERVICE_BUS_CLUSTER,
    role: 'master',
    signal,
    onProblem: reportBusProblems(logger),
  })
  opened.defer(() => bus.close())
  const overrides = { generation: candidate.generation, values }
  return { config, masterId, bus, dataSource, lifecycle, origin: { env, overrides } }
}

/** Stores what is served, so that all masters agree. A failure here does not end what serves. */
async function noteServed(
  { instance, candidate, rollback }: Served<Instance>,
  dataSource: DataSource,
  logger: ServiceLogger,
): Promise<void> {
  const { app, infrastructure } = instance
  const { overrides } = infrastructure.origin
  try {
    if (rollback) {
      // Before it is stored: what is served here needs no restart.
      overrides.generation = rollback.failed.generation
      const id = await saveRollback(app.get(EventLog), infrastructure.config.SERVICE_PRO_CLUSTER_ID, rollback)
      // Another restart came meanwhile: this master takes it over as soon as it looks.
      if (id === undefined) return
      overrides.generation = id
      rollbacks.inc({})
      const { properties, reason, failed, restored } = rollback
      logger.error(
        { properties, reason },
        `restart ${failed.generation} was rolled back to the configuration of restart ${restored.generation}: ${properties.join(', ')}`,
      )
    }
    await markServed(dataSource.manager, infrastructure.masterId, { ...candidate, generation: overrides.generation })
  } catch (error) {
    logger.error({ err: error }, 'the served configuration could not be noted')
  }
}

/** At start what we depend on may still be starting too. */
async function untilReachable<T>(
  what: string,
  { logger, signal }: Pick<Context, 'logger' | 'signal'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (translateDatabaseError(error)?.code !== 'UNAVAILABLE') throw error
      logger.warn(`${what} is not reachable yet: ${error instanceof Error ? error.message : String(error)}`)
      await setTimeout(RETRY_MS, undefined, { signal })
    }
  }
}
