import { setTimeout } from 'node:timers/promises'
import { ConfigError, overriddenConfig, restartedConfig, withoutEffect } from '@session-service/config'
import { type RestartBody, RestartCall, type RestartView, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
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
import { latestRestart, removeOverrides, saveOverrides } from '../../platform/config/overrides.js'
import { verifyConfig } from './verify-config.js'

/** A master that missed the call, for the bus was away, finds out this often, ms. */
const CHECK_EVERY_MS = 3_000
/** How long the closeAfterLeave may take to reach the sockets here, ms. */
const FAREWELL_MS = 2_000
const LOOK_EVERY_MS = 20

/** New values for the configuration, and the restart of every master that puts them in force. */
@Injectable()
export class RestartService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(RestartService.name)
  private subscription: BusSubscription | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly bus: Bus,
    private readonly dataSource: DataSource,
    private readonly channel: SessionBroadcast,
    private readonly sessions: SessionsService,
    private readonly sockets: SocketRegistry,
    private readonly lifecycle: Lifecycle,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(CONFIG_ORIGIN) private readonly origin: ConfigOrigin,
  ) {}

  onApplicationBootstrap(): void {
    this.subscription = this.bus.subscribe(SUBJECT.restart, RestartCall, () => this.check())
    this.timer = setInterval(() => void this.check(), CHECK_EVERY_MS)
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer)
    await this.subscription?.stop()
  }

  /** @throws ServiceError INVALID naming each property at fault; CONFLICT while another restart is under way */
  async request(members: RestartBody): Promise<RestartView> {
    const { env, overrides } = this.origin
    const { config } = this
    const wanted = withoutMasks(members, config, mediaserverUris(config, this.mediaNodes.connected()))
    const changes = asInvalid(() => restartedConfig({ env, overrides: overrides.values, config }, wanted))
    const warnings = await this.verified({ ...overrides.values, ...changes }, Object.keys(changes))
    this.channel.requireBus()
    const generation = await saveOverrides(this.dataSource, env, changes, overrides.generation)
    this.logger.log(`restart ${generation} changes ${Object.keys(changes).join(', ') || 'nothing'}`)
    for (const warning of warnings) this.logger.warn(`restart ${generation}: ${warning}`)
    this.restartAll(generation)
    return { warnings }
  }

  /**
   * Drops one override, or all, and restarts with the environment's values.
   * @throws ServiceError NOT_FOUND without the override; INVALID for what is left; CONFLICT during another restart
   */
  async drop(name?: string): Promise<void> {
    const { values, generation: basedOn } = this.origin.overrides
    const names = name === undefined ? Object.keys(values) : [name]
    if (name !== undefined && !Object.hasOwn(values, name))
      throw new ServiceError('NOT_FOUND', 'property: there is no override of this property')
    if (names.length === 0) return
    await this.verified(Object.fromEntries(Object.entries(values).filter(([each]) => !names.includes(each))), names)
    this.channel.requireBus()
    const generation = await removeOverrides(this.dataSource, names, basedOn)
    this.logger.log(`restart ${generation} drops the overrides of ${names.join(', ')}`)
    this.restartAll(generation)
  }

  /** The warnings of a configuration that can be used. @throws ServiceError INVALID */
  private async verified(overrides: Readonly<Record<string, string>>, changed: readonly string[]): Promise<string[]> {
    const { env } = this.origin
    const config = asInvalid(() => overriddenConfig(env, overrides))
    const { problems, warnings } = await verifyConfig({ env, overrides, config, changed })
    if (problems.length > 0) throw new ServiceError('INVALID', problems.join('; '))
    return [...warnings, ...withoutEffect(changed, config)]
  }

  private restartAll(generation: number): void {
    this.bus.publish(SUBJECT.restart, RestartCall, { generation })
    this.catchUp(generation)
  }

  /** The table alone says which generation there is: a message on the bus only says that it is time to look. */
  private async check(): Promise<void> {
    const latest = await latestRestart(this.dataSource).catch(() => undefined)
    if (latest) this.catchUp(latest.generation)
  }

  private catchUp(generation: number): void {
    if (generation > this.origin.overrides.generation) this.lifecycle.restart(() => this.endSessions())
  }

  /** Every master does so: what one has ended is gone for the others. */
  private async endSessions(): Promise<void> {
    const { requestedAt } = await latestRestart(this.dataSource)
    await this.sessions.closeAll(requestedAt, 'serviceServerStopped')
    const deadline = performance.now() + FAREWELL_MS
    // The clients here may be told by another master, over the bus.
    while (performance.now() < deadline && [...this.sockets.all()].length > 0) await setTimeout(LOOK_EVERY_MS)
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
