import { randomUUID } from 'node:crypto'
import { configAdvice, type Environment, loadMasterConfig } from '@session-service/config'
import {
  createLogger,
  dropPrivileges,
  OpsService,
  serveStartProbes,
  sleep,
  startTracing,
  translateDatabaseError,
} from '@session-service/server-kit'
import { currentGeneration, earlierSets, mayRollBack } from '../api/configuration/generations.js'
import { type Instance, Lifecycle } from '../platform/config/lifecycle.js'
import { VERSION } from '../platform/config/version.js'
import { SignallingGateway } from '../signalling/gateway/signalling.gateway.js'
import {
  closeOpened,
  openDatabase,
  startApplication,
  type StartContext,
  type StartedApplication,
  untilReachable,
} from './start-application.js'
import { recordServed } from './record-served.js'
import { runAsOptions } from './run-as-options.js'
import { serveWithFallback } from './serve-with-fallback.js'

/** Busy clients get at least this long, ms: each receives one more answer, which asks it to close its connection. */
const MIN_SHUTDOWN_DELAY_MS = 250

/** Starts a master from its environment; resolves once it serves. It restarts in place when the API requests it. */
export async function startMaster(env: Environment, signal: AbortSignal): Promise<{ close(): Promise<void> }> {
  const config = loadMasterConfig(env)
  const logger = createLogger({ level: config.SERVICE_LOG_LEVEL, format: config.SERVICE_LOG_FORMAT, name: 'master' })
  await dropPrivileges({ ...runAsOptions(config), logger })
  for (const advice of configAdvice('master', env)) logger.warn(advice)
  const service = { name: 'master', version: VERSION, instanceId: randomUUID() }
  const stopTracing = await startTracing({ config, service, logger })
  const lifecycle: Lifecycle = new Lifecycle(() => buildInstance({ env, lifecycle, logger, signal }), logger, signal)
  await lifecycle.start()
  return {
    close: async () => {
      await lifecycle.close()
      await stopTracing()
    },
  }
}

/** Builds the master with the configuration as it is now. When that fails, everything that was opened is closed. */
async function buildInstance(context: StartContext): Promise<Instance> {
  const { logger, signal } = context
  const opened = new AsyncDisposableStack()
  try {
    const probes = await serveStartProbes(probeAddress(context))
    opened.defer(() => probes.close())
    const dataSource = await openDatabase(context, opened)
    const latest = await untilReachable('the database', context, () => currentGeneration(dataSource))
    await probes.close()
    const served = await serveWithFallback(latest, {
      serve: (candidate) => startApplication(candidate, dataSource, context),
      earlier: (candidate) => earlierSets(dataSource, candidate),
      mayRollBack: (candidate) => mayRollBack(dataSource, candidate),
      isBlamed: (error) => !signal.aborted && translateDatabaseError(error)?.code !== 'UNAVAILABLE',
      logger,
    })
    opened.use(served.instance.opened)
    await recordServed(served, logger)
    const { config, masterId } = served.instance.infrastructure
    logger.log({ masterId }, `the master serves ${config.SERVICE_PUBLICURL}`)
    return { close: () => shutDown(served.instance, opened, logger) }
  } catch (error) {
    await closeOpened(opened, logger)
    throw error
  }
}

async function shutDown(
  { app, infrastructure }: StartedApplication,
  opened: AsyncDisposableStack,
  logger: StartContext['logger'],
): Promise<void> {
  const { config, masterId } = infrastructure
  const delayMs = Math.max(config.SERVICE_SHUTDOWN_DELAY * 1_000, MIN_SHUTDOWN_DELAY_MS)
  logger.log({ masterId }, `the master shuts down: it is not ready, and closes its client sockets after ${delayMs} ms`)
  app.get(OpsService).setDraining()
  await sleep(delayMs)
  // Before Nest waits for the operations in progress, which may take long.
  const closed = await app.get(SignallingGateway).closeAllSockets()
  logger.log({ masterId, closed }, 'the master has closed its client sockets, and ends what is in progress')
  await opened.disposeAsync()
  logger.log({ masterId }, 'the master has shut down')
}

/** Reads the address from the environment: overrides are in the database, which may not be there yet. */
function probeAddress({ env }: StartContext): { host: string; port: number } {
  const { SERVICE_OPS_HOST: host, SERVICE_OPS_PORT: port } = loadMasterConfig(env)
  return { host, port }
}
