import { ConfigError, overriddenConfig, restartedConfig, withoutEffect } from '@session-service/config'
import { type RestartBody, RestartCall, type RestartView, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { poll } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { SocketRegistry } from '../../signalling/sockets/socket-registry.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import {
  type ConfigOrigin,
  CONFIG_ORIGIN,
  MASTER_CONFIG,
  type MasterConfig,
} from '../../platform/config/configuration.module.js'
import { mediaserverUris, withoutMasks } from './configuration.view.js'
import { Lifecycle } from '../../platform/config/lifecycle.js'
import { PeriodicRead, type PeriodicReader } from '../../platform/jobs/periodic-read.js'
import { removeOverrides, saveOverrides } from '../../platform/config/overrides.js'
import { latestRestart } from '../../platform/config/restarts.js'
import { verifyConfig } from './verify-config.js'

/** The sockets here may take this long to close, ms. */
const SOCKETS_MS = 2_000
const POLL_EVERY_MS = 20

/** Changes the configuration: stores new values and restarts every master with them. */
@PeriodicRead()
@Injectable()
export class RestartService implements PeriodicReader, OnApplicationBootstrap, OnModuleDestroy {
  /** A master may have missed the message of a restart. */
  readonly periodicRead = 'SELECT max(id) AS generation FROM restart'
  readonly #logger = new Logger(RestartService.name)
  #subscription: BusSubscription | undefined

  constructor(
    private readonly bus: Bus,
    private readonly dataSource: DataSource,
    private readonly broadcast: SessionBroadcast,
    private readonly sessions: SessionsService,
    private readonly sockets: SocketRegistry,
    private readonly lifecycle: Lifecycle,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(CONFIG_ORIGIN) private readonly origin: ConfigOrigin,
  ) {}

  onApplicationBootstrap(): void {
    this.#subscription = this.bus.subscribe(SUBJECT.restart, RestartCall, () => this.#check())
  }

  async onModuleDestroy(): Promise<void> {
    await this.#subscription?.stop()
  }

  receive([latest]: readonly object[]): void {
    const generation = (latest as { generation: number | null } | undefined)?.generation ?? 0
    this.#catchUp(generation)
    this.#goBack(generation)
  }

  /** @throws ServiceError INVALID naming each property at fault; CONFLICT when another restart came first */
  async request(members: RestartBody): Promise<RestartView> {
    const { env, overrides } = this.origin
    const { config } = this
    const requested = withoutMasks(members, config, mediaserverUris(config, this.mediaNodes.connected()))
    const changes = asInvalid(() => restartedConfig({ env, overrides: overrides.values, config }, requested))
    const warnings = await this.#verified({ ...overrides.values, ...changes }, Object.keys(changes))
    this.broadcast.requireBus()
    const generation = await saveOverrides(this.dataSource, env, changes, overrides.generation)
    this.#logger.log(
      { restart: generation },
      `restarting with changed properties: ${Object.keys(changes).join(', ') || 'none'}`,
    )
    for (const warning of warnings) this.#logger.warn({ restart: generation }, warning)
    this.#restartAll(generation)
    return { warnings }
  }

  /**
   * Removes one override, or all, and restarts with the environment's values.
   * @throws ServiceError NOT_FOUND without the override; INVALID when the remaining configuration cannot be used;
   *   CONFLICT when another restart came first
   */
  async drop(name?: string): Promise<void> {
    const { values, generation: basedOn } = this.origin.overrides
    const names = name === undefined ? Object.keys(values) : [name]
    if (name !== undefined && !Object.hasOwn(values, name))
      throw new ServiceError('NOT_FOUND', 'property: there is no override of this property')
    if (names.length === 0) return
    await this.#verified(Object.fromEntries(Object.entries(values).filter(([each]) => !names.includes(each))), names)
    this.broadcast.requireBus()
    const generation = await removeOverrides(this.dataSource, names, basedOn)
    this.#logger.log({ restart: generation }, `restarting without the overrides of ${names.join(', ')}`)
    this.#restartAll(generation)
  }

  /** The warnings of a configuration that can be used. @throws ServiceError INVALID when it cannot */
  async #verified(overrides: Readonly<Record<string, string>>, changed: readonly string[]): Promise<string[]> {
    const { env } = this.origin
    const config = asInvalid(() => overriddenConfig(env, overrides))
    const { problems, warnings } = await verifyConfig({ env, overrides, config, changed })
    if (problems.length > 0) throw new ServiceError('INVALID', problems.join('; '))
    return [...warnings, ...withoutEffect(changed, config)]
  }

  #restartAll(generation: number): void {
    this.bus.publish(SUBJECT.restart, RestartCall, { generation })
    this.#catchUp(generation)
  }

  /** Reads the latest generation from the table: a message on the bus is only a hint. */
  async #check(): Promise<void> {
    const latest = await latestRestart(this.dataSource).catch(() => undefined)
    if (latest) this.#catchUp(latest.id)
  }

  #catchUp(generation: number): void {
    if (generation > this.origin.overrides.generation) this.lifecycle.restart(() => this.#endSessions())
  }

  /**
   * A failover of the database may lose the latest restart: no other one would be possible, because each names the one
   * that it follows. Sessions stay. Only the periodic read proves the loss: it writes, so that no outdated standby answers.
   */
  #goBack(generation: number): void {
    const lost = this.origin.overrides.generation
    if (generation >= lost || this.lifecycle.isLeaving) return
    this.#logger.warn(
      `the database has lost restart ${lost}: this master returns to the configuration of ${generation}`,
    )
    this.lifecycle.restart(async () => undefined)
  }

  /** Every master closes all sessions from before the restart; a session that another one has closed is gone. */
  async #endSessions(): Promise<void> {
    const latest = await latestRestart(this.dataSource)
    await this.sessions.closeAll(latest?.requestedAt ?? 0, 'serviceServerStopped')
    // Another master may have closed a session of clients here: its message arrives over the bus.
    const areAllClosed = (): boolean => [...this.sockets.all()].length === 0
    await poll(areAllClosed, { everyMs: POLL_EVERY_MS, timeoutMs: SOCKETS_MS })
  }
}

function asInvalid<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ServiceError('INVALID', error.problems.join('; '))
  }
}
