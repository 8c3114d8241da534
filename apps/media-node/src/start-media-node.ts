import { networkInterfaces } from 'node:os'
import { type INestMicroservice, Logger } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { configAdvice, loadNodeConfig, type Environment, type NodeConfig } from '@session-service/config'
import { nodeClientName } from '@session-service/contract'
import { Bus, BusTransport, reportBusProblems, ReportSender } from '@session-service/messaging'
import {
  createLogger,
  dropPrivileges,
  OpsService,
  type RunningApplication,
  serveLogLevel,
  type ServiceLogger,
  startTracing,
} from '@session-service/server-kit'
import { AnnouncedAddress } from './address/announced-address.js'
import { checkAuthorities } from './ip-cameras/camera-authorities.js'
import { cameraReader } from './native-program/programs.js'
import { workerCount } from './workers/worker-count.js'
import { WorkerPool } from './workers/worker-pool.js'
import type { Infrastructure } from './infrastructure.module.js'
import { MediaNodeModule } from './media-node.module.js'
import { Rhythm } from './node/rhythm.js'
import { VERSION } from './node/version.js'
import { runAsOptions } from './node/run-as-options.js'
import { bindCommands } from './commands/commands.controller.js'
import { ClockSyncService } from './cluster/clock-sync.service.js'
import { serveProcessProbe } from './cluster/process-probe.js'
import { HeartbeatService } from './cluster/heartbeat.service.js'
import { identify } from './node/identity.js'
import { LifecycleService } from './lifecycle/lifecycle.service.js'
import { RegistrationService } from './registration/registration.service.js'
import { ReportsService } from './cluster/reports.service.js'
import { RecordingsService } from './recordings/recordings.service.js'

/** The longest back-off between two attempts to send a report: a fenced node is out of service until then. */
const MAX_REPORT_BACKOFF_MS = 1_000
/** How long the shutdown waits for running commands, ms. */
const BUS_CLOSE_MS = 2_000
/** Heartbeats for each probe of the media workers: every 2 s, or 8 s while the node rests. */
const WORKER_PROBE_BEATS = 4

/** How long the shutdown waits until running recordings are finalized and delivered, ms. */
const FINISH_RECORDINGS_MS = 6_000

/** Starts a media node from its environment; resolves once it accepts commands. */
export async function startMediaNode(env: Environment, signal?: AbortSignal): Promise<RunningApplication> {
  const config = loadNodeConfig(env)
  const workers = workerCount(config)
  const logger = createLogger({
    level: config.SERVICE_LOG_LEVEL,
    format: config.SERVICE_LOG_FORMAT,
    name: 'media-node',
  })
  // Media workers and recording programs inherit the account, so they start later.
  await dropPrivileges({ ...runAsOptions(config, env), logger })
  for (const advice of configAdvice('node', env)) logger.warn(advice)
  if (cameraReader()) checkAuthorities(config)
  // The infrastructure logs before there is an application.
  Logger.overrideLogger(logger)
  const infrastructure = await openInfrastructure(config, workers, logger, signal)
  const { identity, bus, pool } = infrastructure
  const service = { name: 'media-node', version: VERSION, instanceId: identity.nodeId }
  const stopTracing = await startTracing({ config, service, logger })
  const strategy = new BusTransport({ bus, bind: bindCommands(identity.nodeId) })
  const app = await NestFactory.createMicroservice(MediaNodeModule.forRoot(infrastructure), { strategy, logger })
  serveLogLevel(app.get(OpsService), logger)
  serveProcessProbe(app.get(OpsService), identity.bootId)
  await listen(app, infrastructure, signal)
  // The probes of the registration come last: the bus writes a probe at once, with all messages that wait before it.
  app.get(HeartbeatService).start()
  app.get(ClockSyncService).start()
  app.get(RegistrationService).start()
  app.get(RecordingsService).start()
  app.get(Rhythm).interval(() => pool.probe(), WORKER_PROBE_BEATS)
  logger.log(
    { mediaNodeId: identity.nodeId, address: identity.address, workers: pool.workers.size },
    'the media node listens for media',
  )
  const lifecycle = app.get(LifecycleService)
  return {
    signalled: () => lifecycle.signalled(),
    ended: lifecycle.ended,
    close: async () => {
      await close(app, infrastructure)
      await stopTracing()
    },
  }
}

/** A signal during the start ends the wait for the registration. */
async function listen(app: INestMicroservice, { announced, reports }: Infrastructure, signal?: AbortSignal) {
  const stopWaiting = (): void => {
    announced.stop()
    reports.close()
  }
  signal?.addEventListener('abort', stopWaiting, { once: true })
  await app.listen()
  signal?.removeEventListener('abort', stopWaiting)
}

async function close(app: INestMicroservice, { announced, bus, pool }: Infrastructure): Promise<void> {
  await app.get(RecordingsService).finishAll(FINISH_RECORDINGS_MS)
  app.get(HeartbeatService).stop()
  await app.get(ReportsService).deregister()
  await app.close()
  await bus.close(BUS_CLOSE_MS)
  announced.stop()
  await pool.close()
}

/** Workers first: a node without workers must not appear on the bus. */
async function openInfrastructure(
  config: NodeConfig,
  workers: number,
  logger: ServiceLogger,
  signal?: AbortSignal,
): Promise<Infrastructure> {
  const announced = new AnnouncedAddress(config, networkInterfaces())
  const identity = identify(config, announced)
  const pool = new WorkerPool({
    size: workers,
    listenIp: config.MEDIA_NODE_IP,
    announcedAddress: () => announced.current,
    firstPort: config.MEDIA_NODE_RTC_PORT,
  })
  await pool.start()
  try {
    const onProblem = reportBusProblems(logger)
    const bus = await Bus.connect({
      servers: config.NATS_URL,
      name: nodeClientName(identity.nodeId, identity.bootId),
      cluster: config.SERVICE_BUS_CLUSTER,
      role: 'node',
      onProblem,
      ...(signal && { signal }),
    })
    const reports = new ReportSender(bus, {
      nodeId: identity.nodeId,
      bootId: identity.bootId,
      longestPauseMs: MAX_REPORT_BACKOFF_MS,
      onProblem,
    })
    announced.start()
    return { config, announced, identity, pool, bus, reports }
  } catch (error) {
    await pool.close()
    throw error
  }
}
