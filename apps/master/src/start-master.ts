import { setTimeout } from 'node:timers/promises'
import { newSecret, ServiceError } from '@session-service/contract'
import { type Environment, loadMasterConfig, overriddenConfig } from '@session-service/config'
import { Bus, BusTransport } from '@session-service/messaging'
import {
  createLogger,
  HttpErrorFilter,
  OpsService,
  reportBusProblems,
  type ServiceLogger,
  translateDatabaseError,
} from '@session-service/server-kit'
import { NestFactory } from '@nestjs/core'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import { BasicCredentials } from './authentication/basic-credentials.js'
import { Gate } from './authentication/gate.js'
import { bindPattern } from './bus/bindings.js'
import { type Generation, Lifecycle } from './configuration/lifecycle.js'
import { readOverrides, withClusterId } from './configuration/overrides.js'
import { ClusterClock } from './database/cluster-clock.js'
import { createDataSource, migrate } from './database/data-source.js'
import { serveClientLibrary } from './http/client-library.js'
import { corsOptions } from './http/cors.js'
import { namedOrigins } from './http/cross-site.js'
import { warnAboutUntrustedProxy } from './http/forwarded-headers.js'
import { createHttpAdapter } from './http/http-adapter.js'
import { answerRepeats } from './http/idempotency/idempotency.js'
import { IdempotentCalls } from './http/idempotency/idempotent-calls.service.js'
import { answerWhileLeaving } from './http/leaving.js'
import { type Foundations, MasterModule } from './master.module.js'
import { MediaNodesService } from './media-nodes/media-nodes.service.js'
import { openRecordingAddresses, routeRecordingFiles } from './recordings/files/recording-routes.js'
import { RecordingRepository } from './recordings/recording.repository.js'
import { SignallingServer } from './signalling/signalling.server.js'

/** A service that is not there yet is tried again this often, ms. */
const RETRY_MS = 1_000
/** Time for busy clients to let go of their connections: each gets one answer more, which says so, ms. */
const LEAST_DELAY_MS = 250

/** Starts a master from its environment; resolves once it serves. It restarts in place when the API asks it to. */
export async function startMaster(env: Environment, signal: AbortSignal): Promise<{ close(): Promise<void> }> {
  const config = loadMasterConfig(env)
  const logger = createLogger({ level: config.SERVICE_LOG_LEVEL, format: config.SERVICE_LOG_FORMAT, name: 'master' })
  const lifecycle: Lifecycle = new Lifecycle(() => build(env, lifecycle, logger, signal), logger, signal)
  await lifecycle.start()
  return lifecycle
}

/** All of a master for the configuration as it is now; what was opened is closed again when it cannot be built. */
async function build(
  env: Environment,
  lifecycle: Lifecycle,
  logger: ServiceLogger,
  signal: AbortSignal,
): Promise<Generation> {
  const opened = new AsyncDisposableStack()
  try {
    const foundations = await layFoundations({ env, lifecycle, logger, signal, opened })
    const app = await createApplication(foundations, logger)
    opened.defer(() => app.close())
    await app.startAllMicroservices()
    const { config } = foundations
    await app.listen(config.SERVICE_PORT, config.SERVICE_HOST)
    logger.log(`master ${foundations.masterId} serves ${config.SERVICE_PUBLICURL}`)
    return {
      close: async () => {
        app.get(OpsService).setDraining()
        await setTimeout(Math.max(config.SERVICE_SHUTDOWN_DELAY * 1_000, LEAST_DELAY_MS))
        // Before what is under way is waited for, which may take long.
        await app.get(SignallingServer).sendAway()
        await opened.disposeAsync()
      },
    }
  } catch (error) {
    await opened.disposeAsync().catch((cause: unknown) => logger.warn({ err: cause }, 'not everything could be closed'))
    throw error
  }
}

interface Ground {
  env: Environment
  lifecycle: Lifecycle
  logger: ServiceLogger
  signal: AbortSignal
  opened: AsyncDisposableStack
}

async function layFoundations({ env, lifecycle, logger, signal, opened }: Ground): Promise<Foundations> {
  const masterId = `master_${newSecret(48)}`
  const { DATABASE_URL: databaseUrl } = loadMasterConfig(env)
  const dataSource = createDataSource(databaseUrl, (error) =>
    logger.warn({ err: error }, 'a database connection failed'),
  )
  await untilReachable('the database', logger, signal, () => dataSource.initialize())
  opened.defer(() => dataSource.destroy())
  await untilReachable('the schema', logger, signal, () => migrate(dataSource))
  const overrides = await readOverrides(dataSource, env)
  const config = overriddenConfig(env, await withClusterId(dataSource, env, overrides.values))
  const bus = await Bus.connect({
    servers: config.NATS_URL,
    name: masterId,
    cluster: config.SERVICE_BUS_CLUSTER,
    role: 'master',
    signal,
    onProblem: reportBusProblems(logger),
  })
  opened.defer(() => bus.close())
  return { config, masterId, bus, dataSource, lifecycle, origin: { env, overrides } }
}

/** At start what we depend on may still be starting too. */
async function untilReachable<T>(
  what: string,
  logger: ServiceLogger,
  signal: AbortSignal,
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

async function createApplication(foundations: Foundations, logger: ServiceLogger): Promise<NestFastifyApplication> {
  const { config, bus, lifecycle } = foundations
  const errors = new HttpErrorFilter(translateDatabaseError)
  const gate = new Gate(new BasicCredentials(config.SERVICE_SECRET))
  const adapter = createHttpAdapter({
    gate,
    errors,
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    namedOrigins: namedOrigins(config.SERVICE_CORS_ORIGINS, config.SERVICE_PUBLICURL),
    open: openRecordingAddresses(config),
  })
  answerWhileLeaving(adapter.getInstance(), lifecycle)
  await serveClientLibrary(adapter.getInstance())
  const app = await NestFactory.create<NestFastifyApplication>(MasterModule.on(foundations), adapter, {
    logger,
    bodyParser: false,
    abortOnError: false,
  })
  app.enableCors(corsOptions(config.SERVICE_CORS_ORIGINS))
  const isWanted = (part: number): Promise<boolean> => app.get(RecordingRepository).hasPart(part)
  await routeRecordingFiles(adapter.getInstance(), config, {
    gate,
    errors,
    clock: app.get(ClusterClock),
    isWanted,
  })
  answerRepeats(adapter.getInstance(), app.get(IdempotentCalls))
  app.useGlobalFilters(errors)
  app.connectMicroservice({ strategy: new BusTransport({ bus, bind: bindPattern }) })
  app.get(SignallingServer).attachTo(app.getHttpServer())
  warnAboutUntrustedProxy(app.getHttpServer(), config.SERVICE_TRUSTED_PROXIES)
  app.get(OpsService).alsoReadyWhen('nodes', async () => {
    if (app.get(MediaNodesService).isCutOff)
      throw new ServiceError('UNAVAILABLE', 'most media nodes are not heard here')
  })
  return app
}
