import {
  ConfigError,
  type Environment,
  loadMasterConfig,
  overriddenConfig,
  withoutEffect,
} from '@session-service/config'
import { newSecret } from '@session-service/contract'
import { Bus, reportBusProblems } from '@session-service/messaging'
import {
  messageOf,
  type ServiceLogger,
  sleep,
  translateDatabaseError,
  unlessAborted,
  withTimeout,
} from '@session-service/server-kit'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import type { DataSource } from 'typeorm'
import { type Candidate, changedNames, earlierSets } from '../api/configuration/generations.js'
import { verifyConfig } from '../api/configuration/verify-config.js'
import type { Lifecycle } from '../platform/config/lifecycle.js'
import { readOverrides, withClusterId } from '../platform/config/overrides.js'
import { createDataSource, createMigrationSource } from '../platform/database/data-source.js'
import { migrate, readSchemaState } from '../platform/database/migrate.js'
import { refuseTransactionPooling } from '../platform/database/pooler.js'
import type { SchemaState } from '../platform/database/schema-state.js'
import { boundHooks } from './bound-hooks.js'
import { createApplication } from './create-application.js'
import { ENTITIES } from './entities.js'
import type { Infrastructure } from './master.module.js'

/** Delay between attempts to reach a service that may still be starting, ms. */
const RETRY_MS = 1_000
/** Time-out of one step of the start, ms. Waits for the database and the bus have no time-out. */
const STEP_MS = 15_000
/** Time-out of all hooks together, ms: they run one module after another. */
const LISTEN_MS = 45_000
/** Time-out of closing a failed start, ms. After it the next configuration is tried all the same. */
const CLOSE_MS = 10_000

export interface StartContext {
  env: Environment
  lifecycle: Lifecycle
  logger: ServiceLogger
  signal: AbortSignal
}

type MigrationContext = Pick<StartContext, 'logger' | 'signal'>

/** Another process has to run the migrations first. */
class SchemaPending extends Error {
  constructor() {
    super('it is older than this version, and SERVICE_MIGRATE_AT_START is false: waiting for the command migrate')
  }
}

/** An application that listens, and everything that has to be closed with it. */
export interface StartedApplication {
  app: NestFastifyApplication
  infrastructure: Infrastructure
  opened: AsyncDisposableStack
}

/** Connects to the database and brings its schema up to date; waits for what is not there yet. */
export async function openDatabase(context: StartContext, opened: AsyncDisposableStack): Promise<DataSource> {
  const { DATABASE_URL: url, SERVICE_MIGRATE_AT_START: migrates } = loadMasterConfig(context.env)
  const dataSource = createDataSource(url, ENTITIES, (error) =>
    context.logger.warn({ err: error }, 'a database connection failed'),
  )
  await untilReachable('the database', context, () => dataSource.initialize())
  opened.defer(() => dataSource.destroy())
  await untilReachable('the database', context, () => refuseTransactionPooling(dataSource))
  await untilReachable('the schema', context, async () => {
    const state = await readSchemaState(dataSource)
    if (state.kind === 'newer')
      context.logger.warn(`a later version migrated the database: ${state.unknown.join(', ')}`)
    if (state.kind !== 'older') return
    if (!migrates) throw new SchemaPending()
    await migrateDatabase(url, context)
  })
  return dataSource
}

/** Migrates over connections of its own, whose statements have no time-out. */
export async function migrateDatabase(url: string, { logger, signal }: MigrationContext): Promise<SchemaState> {
  const source = createMigrationSource(url, (error) => logger.warn({ err: error }, 'a database connection failed'))
  await source.initialize()
  try {
    return await unlessAborted(migrate(source), signal)
  } finally {
    await withTimeout(() => source.destroy(), CLOSE_MS, 'closing').catch(() => undefined)
  }
}

/** Builds the application with the overrides of the candidate and listens. */
export async function startApplication(
  candidate: Candidate,
  dataSource: DataSource,
  context: StartContext,
): Promise<StartedApplication> {
  const opened = new AsyncDisposableStack()
  try {
    const infrastructure = await openInfrastructure(candidate, dataSource, context, opened)
    const { SERVICE_HOST: host, SERVICE_PORT: port } = infrastructure.config
    const app = await withTimeout(
      () => createApplication(infrastructure, context.logger),
      STEP_MS,
      'creating the application',
    )
    opened.defer(() => app.close())
    boundHooks(app, STEP_MS)
    await withTimeout(() => app.startAllMicroservices(), LISTEN_MS, 'starting the bus handlers')
    await withTimeout(() => app.listen(port, host), LISTEN_MS, 'listening')
    return { app, infrastructure, opened }
  } catch (error) {
    await closeOpened(opened, context.logger)
    throw error
  }
}

export async function closeOpened(opened: AsyncDisposableStack, logger: ServiceLogger): Promise<void> {
  await withTimeout(() => opened.disposeAsync(), CLOSE_MS, 'closing').catch((cause: unknown) =>
    logger.warn({ err: cause }, 'closing after a failed start was incomplete'),
  )
}

async function openInfrastructure(
  candidate: Candidate,
  dataSource: DataSource,
  { env, lifecycle, logger, signal }: StartContext,
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

/** Repeats the attempt while the database is unreachable: it may be starting as well. Rejects when `signal` is aborted. */
export async function untilReachable<T>(
  what: string,
  { logger, signal }: MigrationContext,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof SchemaPending) && translateDatabaseError(error)?.code !== 'UNAVAILABLE') throw error
      logger.warn(`${what} is not usable yet: ${messageOf(error)}`)
      await sleep(RETRY_MS, signal)
      signal.throwIfAborted()
    }
  }
}
