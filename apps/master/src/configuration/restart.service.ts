import { setTimeout } from 'node:timers/promises'
import { ConfigError, overriddenConfig, restartedConfig, withoutEffect } from '@session-service/config'
import { type RestartBody, RestartCall, type RestartView, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { SessionsService } from '../sessions/sessions.service.js'
import { RoomSockets } from '../signalling/room-sockets.js'
import { SessionChannel } from '../signalling/session-channel.js'
import { type ConfigOrigin, CONFIG_ORIGIN, MASTER_CONFIG, type MasterConfig } from './configuration.module.js'
import { withoutMasks } from './configuration.view.js'
import { Lifecycle } from './lifecycle.js'
import { latestRestart, saveOverrides } from './overrides.js'
import { verifyConfig } from './verify-config.js'

/** A master that missed the call, for the bus was away, finds out this often, ms. */
const CHECK_EVERY_MS = 3_000
/** How long the farewell may take to reach the sockets here, ms. */
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
    private readonly channel: SessionChannel,
    private readonly sessions: SessionsService,
    private readonly sockets: RoomSockets,
    private readonly lifecycle: Lifecycle,
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
    const wanted = withoutMasks(members, config)
    const changes = changesOf(() => restartedConfig({ env, overrides: overrides.values, config }, wanted))
    const all = { ...overrides.values, ...changes }
    const next = overriddenConfig(env, all)
    const { problems, warnings } = await verifyConfig({
      env,
      overrides: all,
      config: next,
      changed: Object.keys(changes),
    })
    if (problems.length > 0) throw new ServiceError('INVALID', problems.join('; '))
    warnings.push(...withoutEffect(Object.keys(changes), next))
    this.channel.requireBus()
    const generation = await saveOverrides(this.dataSource, env, changes, overrides.generation)
    this.logger.log(`restart ${generation} changes ${Object.keys(changes).join(', ') || 'nothing'}`)
    for (const warning of warnings) this.logger.warn(`restart ${generation}: ${warning}`)
    this.bus.publish(SUBJECT.restart, RestartCall, { generation })
    this.catchUp(generation)
    return { warnings }
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

function changesOf(work: () => Record<string, string>): Record<string, string> {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ServiceError('INVALID', error.problems.join('; '))
  }
}
