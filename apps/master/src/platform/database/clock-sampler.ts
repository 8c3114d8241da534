import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ClusterClock } from './cluster-clock.js'

const EVERY_MS = 1_000
/** Smaller steps are corrections of a clock that is synchronized. */
const WORTH_A_WARNING_MS = 500

/** Measures the clock of the database every second, whatever else this master is busy with. */
@Injectable()
export class ClockSampler implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(ClockSampler.name)
  private timer: NodeJS.Timeout | undefined
  private isSampling = false

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: ClusterClock,
  ) {}

  /** The first sample precedes every write. */
  async onModuleInit(): Promise<void> {
    await this.sample()
    this.timer = setInterval(() => void this.sampleQuietly(), EVERY_MS)
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer)
  }

  private async sampleQuietly(): Promise<void> {
    if (this.isSampling) return
    this.isSampling = true
    // Without the database the monotonic clock goes on from the last sample.
    await this.sample().catch(() => undefined)
    this.isSampling = false
  }

  /** By a statement that has nothing to commit: the commit would count as part of the answer's way. */
  private async sample(): Promise<void> {
    const askedAt = performance.now()
    const [row] = await this.dataSource.query<{ now: number }[]>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    )
    if (!row) return
    const stepMs = this.clock.note({ askedAt, answeredAt: performance.now(), referenceAt: row.now })
    if (Math.abs(stepMs) < WORTH_A_WARNING_MS) return
    this.logger.warn({ stepMs: Math.round(stepMs) }, 'the clock of the database has stepped')
  }
}
