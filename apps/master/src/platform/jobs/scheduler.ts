import { Bus } from '@session-service/messaging'
import { fewAtOnce } from '@session-service/server-kit'
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { DataSource } from 'typeorm'
import { AutoscalingService } from '../../autoscaling/autoscaling.service.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../config/configuration.module.js'
import { ConnectionsService } from '../../connections/connections.service.js'
import { ParticipationService } from '../../participation/participation.service.js'
import { IdempotentCalls } from '../http/idempotency/idempotent-calls.service.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeUpkeepService } from '../../recovery/node-upkeep.service.js'
import { NodeWatchService } from '../../recovery/node-watch.service.js'
import { RecordingWork } from '../../recordings/lifecycle/recording-work.service.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { LostMediaWatch } from '../../signalling/lost-media-watch.js'
import { RecentSignals } from '../../signals/recent-signals.js'
import { SignallingServer } from '../../signalling/signalling.server.js'
import { DutyLock } from './leader-lease.js'

const TICK_MS = 1_000
const RECONCILE_EVERY_MS = 10_000
const STRANGERS_EVERY_MS = 5_000
const LOST_MEDIA_EVERY_MS = 2_000
const LOST_PARTS_EVERY_MS = 600_000
const OLD_CALLS_EVERY_MS = 60_000
/** A node that does not answer holds up those of others no longer than it must. */
const EVICTED_AT_ONCE = 8
/** A master that has not shown itself for this long is dead. */
const MASTER_SILENT_SECONDS = 5

interface Duty {
  name: string
  everyMs: number
  run: (now: number) => Promise<void>
  /** For all masters together, by the one that holds the lock; else by every master for itself. */
  once: boolean
}

/** What has to be done every so often. Deadlines are in the database, so that any master can take over. */
@Injectable()
export class DutiesService implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(DutiesService.name)
  private readonly lock: DutyLock
  private readonly lastRun = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined
  private leaving: NodeJS.Timeout | undefined
  private underWay: Promise<void> = Promise.resolve()
  private isStopping = false

  constructor(
    private readonly dataSource: DataSource,
    private readonly bus: Bus,
    private readonly sessions: SessionsService,
    private readonly connections: ConnectionsService,
    private readonly participation: ParticipationService,
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeUpkeep: NodeUpkeepService,
    private readonly nodeWatch: NodeWatchService,
    private readonly autoscaling: AutoscalingService,
    private readonly recordings: RecordingWork,
    private readonly signalling: SignallingServer,
    private readonly lostMedia: LostMediaWatch,
    private readonly calls: IdempotentCalls,
    private readonly recentSignals: RecentSignals,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    this.lock = new DutyLock(dataSource)
    bus.onStatus(() => this.nodeUpkeep.forgetSilence())
  }

  async onModuleInit(): Promise<void> {
    await this.showAlive()
  }

  onApplicationBootstrap(): void {
    this.schedule()
  }

  /** Its participants are not taken for lost while they are sent to another master, however long the rest takes. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    clearTimeout(this.timer)
    this.leaving = setInterval(() => void this.showAlive().catch(() => undefined), TICK_MS)
    await this.underWay
    await this.lock.giveUp()
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.leaving)
    await this.dataSource.query('DELETE FROM master WHERE id = $1', [this.masterId]).catch(() => undefined)
  }

  private schedule(): void {
    if (this.isStopping) return
    this.timer = setTimeout(() => {
      this.underWay = this.tick(performance.now()).finally(() => this.schedule())
    }, TICK_MS)
  }

  private async tick(now: number): Promise<void> {
    try {
      await this.showAlive()
      // Whoever hears most of the nodes is to judge them.
      if (this.mediaNodes.isCutOff) await this.lock.giveUp()
      const isOurs = !this.mediaNodes.isCutOff && (await this.lock.isOurs())
      // What cannot be told to clients and nodes is not begun.
      if (!this.bus.connected) return
      for (const duty of this.duties) if (isOurs || !duty.once) await this.runIfDue(duty, now)
    } catch (error) {
      this.logger.warn({ err: error }, 'the duties could not be done')
    }
  }

  private async runIfDue({ name, everyMs, run }: Duty, now: number): Promise<void> {
    if (now - (this.lastRun.get(name) ?? -Infinity) < everyMs || this.isStopping) return
    this.lastRun.set(name, now)
    // One that fails does not keep the others from being done.
    await run(now).catch((error: unknown) => this.logger.warn({ err: error, duty: name }, 'a duty could not be done'))
  }

  private get duties(): Duty[] {
    const { SERVICE_SESSIONS_GARBAGE_INTERVAL: interval, SERVICE_SESSIONS_GARBAGE_THRESHOLD: threshold } = this.config
    const duties: Duty[] = [
      { name: 'strangers', once: false, everyMs: STRANGERS_EVERY_MS, run: () => this.signalling.dropStrangers() },
      { name: 'lost media', once: false, everyMs: LOST_MEDIA_EVERY_MS, run: () => this.lostMedia.check() },
      { name: 'deadlines', once: false, everyMs: STRANGERS_EVERY_MS, run: () => this.signalling.alignDeadlines() },
      { name: 'dead masters', once: true, everyMs: TICK_MS, run: () => this.noteDeadMasters() },
      { name: 'evictions', once: true, everyMs: 0, run: () => this.evictOverdue() },
      {
        name: 'media nodes',
        once: true,
        everyMs: 0,
        run: (now) => this.nodeUpkeep.run(now),
      },
      { name: 'gone nodes', once: true, everyMs: RECONCILE_EVERY_MS, run: () => this.nodeUpkeep.forgetGone() },
      { name: 'reconcile', once: true, everyMs: RECONCILE_EVERY_MS, run: () => this.nodeWatch.reconcile() },
      { name: 'recordings', once: true, everyMs: 0, run: (now) => this.recordings.upkeep(now) },
      { name: 'stray recordings', once: true, everyMs: RECONCILE_EVERY_MS, run: () => this.recordings.stopStrays() },
      { name: 'lost parts', once: true, everyMs: LOST_PARTS_EVERY_MS, run: () => this.recordings.forgetLostParts() },
      { name: 'calls', once: false, everyMs: 0, run: () => this.calls.settleRest() },
      { name: 'recent signals', once: true, everyMs: 0, run: () => this.recentSignals.trim() },
      { name: 'old calls', once: true, everyMs: OLD_CALLS_EVERY_MS, run: () => this.calls.forgetOld() },
      { name: 'node figures', once: false, everyMs: 0, run: () => Promise.resolve(this.autoscaling.showFigures()) },
      { name: 'loads', once: true, everyMs: 0, run: () => Promise.resolve(this.autoscaling.sample()) },
      {
        name: 'autoscaling',
        once: true,
        everyMs: this.autoscaling.intervalMs,
        run: (now) => this.autoscaling.run(now, (manager) => this.lock.assertOurs(manager)),
      },
    ]
    if (interval === 0) return duties
    const collect = {
      name: 'garbage',
      once: true,
      everyMs: interval * 1_000,
      run: () => this.sessions.closeUnused(threshold, () => this.isStopping),
    }
    return [...duties, collect]
  }

  private async evictOverdue(): Promise<void> {
    await fewAtOnce(EVICTED_AT_ONCE, await this.participation.overdue(), (id) =>
      this.connections.depart(id, 'networkDisconnect', true).catch((error: unknown) => {
        this.logger.warn({ err: error, connectionId: id }, 'a participant could not be evicted')
      }),
    )
  }

  private async noteDeadMasters(): Promise<void> {
    // In the future: the clock of the database was set back since.
    await this.dataSource.query(
      `DELETE FROM master WHERE alive_at NOT BETWEEN clock_timestamp() - $1 * interval '1 second'
                                                 AND clock_timestamp() + $1 * interval '1 second'`,
      [MASTER_SILENT_SECONDS],
    )
    await this.participation.giveTimeAfterDeadMasters()
  }

  private async showAlive(): Promise<void> {
    const [others] = await this.dataSource.query<{ most: number }[]>(
      `INSERT INTO master (id, alive_at, uri, nodes_heard) VALUES ($1, clock_timestamp(), $2, $3)
       ON CONFLICT (id) DO UPDATE SET alive_at = excluded.alive_at, nodes_heard = excluded.nodes_heard
       RETURNING (SELECT coalesce(max(nodes_heard), 0) FROM master WHERE id <> $1) AS most`,
      [this.masterId, this.config.SERVICE_PUBLICURL, this.mediaNodes.heardCount],
    )
    this.mediaNodes.lookAround(others?.most ?? 0)
  }
}
