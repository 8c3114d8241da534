import { availableParallelism, networkInterfaces } from 'node:os'
import { Logger } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { loadNodeConfig, type Environment, type NodeConfig } from '@session-service/config'
import { Bus, BusTransport, FactSender } from '@session-service/messaging'
import {
  createLogger,
  reportBusProblems,
  type RunningApplication,
  type ServiceLogger,
  dropPrivileges,
} from '@session-service/server-kit'
import { WorkerPool } from './workers/worker-pool.js'
import { MediaNodeModule, type Foundations } from './media-node.module.js'
import { runAsOptions } from './node/run-as-options.js'
import { bindCommands } from './commands/commands.controller.js'
import { ClockSyncService } from './cluster/clock-sync.service.js'
import { HeartbeatService } from './cluster/heartbeat.service.js'
import { identify } from './node/identity.js'
import { LifecycleService } from './lifecycle/lifecycle.service.js'
import { MembershipService } from './registration/registration.service.js'
import { ReporterService } from './cluster/reports.service.js'
import { RecordingsService } from './recordings/recordings.service.js'

/** The longest wait between two attempts to tell masters something: until then a fenced node does nothing. */
const FACT_PAUSE_MS = 1_000
/** Commands that still run at the end, ms. */
const BUS_CLOSE_MS = 2_000

/** Recordings that still run at the end: to end their files and deliver them, ms. */
const RECORDINGS_MS = 6_000

/** Starts a media node from its environment; resolves once it takes commands. */
export async function startMediaNode(env: Environment, signal?: AbortSignal): Promise<RunningApplication> {
  const config = loadNodeConfig(env)
  const logger = createLogger({
    level: config.SERVICE_LOG_LEVEL,
    format: config.SERVICE_LOG_FORMAT,
    name: 'media-node',
  })
  // Media workers and recording programs inherit the account, so they start later.
  await dropPrivileges({ ...runAsOptions(config, env), logger })
  // What the foundations have to say, before there is an application.
  Logger.overrideLogger(logger)
  const foundations = await layFoundations(config, logger, signal)
  const { identity, bus, pool } = foundations
  const strategy = new BusTransport({ bus, bind: bindCommands(identity.nodeId) })
  const app = await NestFactory.createMicroservice(MediaNodeModule.on(foundations), { strategy, logger })
  // Waiting for the registration ends with the process.
  const giveUp = (): void => foundations.facts.close()
  signal?.addEventListener('abort', giveUp, { once: true })
  await app.listen()
  signal?.removeEventListener('abort', giveUp)
  app.get(MembershipService).start()
  app.get(ClockSyncService).start()
  app.get(HeartbeatService).start()
  app.get(RecordingsService).start()
  logger.log(`media node ${identity.nodeId} takes media at ${identity.address} with ${pool.workers.size} workers`)
  const lifecycle = app.get(LifecycleService)
  return {
    signalled: () => lifecycle.signalled(),
    ended: lifecycle.ended,
    close: async () => {
      await app.get(RecordingsService).finishAll(RECORDINGS_MS)
      app.get(HeartbeatService).stop()
      await app.get(ReporterService).sayGoodbye()
      await app.close()
      await bus.close(BUS_CLOSE_MS)
      await pool.close()
    },
  }
}

/** Workers first: a node that can not run them has nothing to say on the bus. */
async function layFoundations(config: NodeConfig, logger: ServiceLogger, signal?: AbortSignal): Promise<Foundations> {
  const identity = identify(config, networkInterfaces())
  const pool = new WorkerPool({
    size: config.MEDIA_NODE_WORKERS || availableParallelism(),
    listenIp: config.MEDIA_NODE_IP,
    announcedAddress: identity.address,
    firstPort: config.MEDIA_NODE_RTC_PORT,
  })
  await pool.start()
  try {
    const onProblem = reportBusProblems(logger)
    const bus = await Bus.connect({
      servers: config.NATS_URL,
      name: identity.nodeId,
      cluster: config.SERVICE_BUS_CLUSTER,
      role: 'node',
      onProblem,
      ...(signal && { signal }),
    })
    const facts = new FactSender(bus, {
      nodeId: identity.nodeId,
      bootId: identity.bootId,
      longestPauseMs: FACT_PAUSE_MS,
      onProblem,
    })
    return { config, identity, pool, bus, facts }
  } catch (error) {
    await pool.close()
    throw error
  }
}
