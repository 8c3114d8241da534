import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { newSecret, SUBJECT } from '@session-service/contract'
import { Bus, REPORT_RPC } from '@session-service/messaging'
import { serviceClock } from '@session-service/server-kit'
import { NodeIdentity } from '../node/identity.js'
import { Rhythm, type RhythmInterval } from '../node/rhythm.js'
import { StatisticsSettings } from '../node/statistics-settings.js'

/** In heartbeats. */
const INTERVAL = 10
const TIMEOUT_MS = 2_000
/** Smaller steps are normal corrections of synchronised clocks. */
const WARN_STEP_MS = 500

/**
 * Measures the clock of the masters, which follows the database, so that a wrong clock of this machine has no effect.
 * The same answer contains the intervals of the statistics.
 */
@Injectable()
export class ClockSyncService implements OnModuleDestroy {
  readonly #logger = new Logger(ClockSyncService.name)
  #timer: RhythmInterval | undefined
  #isSyncing = false

  constructor(
    private readonly identity: NodeIdentity,
    private readonly bus: Bus,
    private readonly rhythm: Rhythm,
    private readonly statistics: StatisticsSettings,
  ) {}

  start(): void {
    this.#timer = this.rhythm.interval(() => void this.#sync(), INTERVAL)
    void this.#sync()
  }

  onModuleDestroy(): void {
    this.#timer?.stop()
  }

  async #sync(): Promise<void> {
    if (this.#isSyncing) return
    this.#isSyncing = true
    // Without a master, or with an older version of one, the monotonic clock continues from the last sample.
    await this.#sample().catch(() => undefined)
    this.#isSyncing = false
  }

  async #sample(): Promise<void> {
    const { nodeId, bootId } = this.identity
    const fact = { kind: 'clock' as const, factId: newSecret(), nodeId, bootId }
    const askedAt = performance.now()
    const { now, statistics } = await this.bus.request(SUBJECT.fact(nodeId), REPORT_RPC, fact, {
      timeoutMs: TIMEOUT_MS,
    })
    // Absent in the answer of an older master.
    if (statistics) this.statistics.intervals = statistics
    if (now === undefined) return
    const stepMs = serviceClock.note({ askedAt, answeredAt: performance.now(), referenceAt: now })
    if (Math.abs(stepMs) < WARN_STEP_MS) return
    this.#logger.warn({ stepMs: Math.round(stepMs) }, 'the clock of the masters has stepped')
  }
}
