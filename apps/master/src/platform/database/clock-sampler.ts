import { AlignedInterval, type ClockSample } from '@session-service/server-kit'
import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ClusterClock } from './cluster-clock.js'
import { firstRow } from './sql.js'

/** Without a precise sample for this long one is taken: others come every second with what a master reads anyway. */
const SAMPLE_EVERY_MS = 10_000
/** The round trip of a precise sample. */
const PRECISE_MS = 5
/** Smaller steps are corrections by NTP and are not logged. */
const MIN_REPORTED_STEP_MS = 500

/** Measures the offset to the database's clock. */
@Injectable()
export class ClockSampler implements OnModuleInit, OnApplicationShutdown {
  readonly #logger = new Logger(ClockSampler.name)
  #timer: AlignedInterval | undefined
  #isSampling = false
  #preciseAt = -Infinity

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: ClusterClock,
  ) {}

  /** The first sample precedes every write. */
  async onModuleInit(): Promise<void> {
    await this.#sample()
    this.#timer = new AlignedInterval(() => void this.#sampleQuietly(), SAMPLE_EVERY_MS)
  }

  onApplicationShutdown(): void {
    this.#timer?.stop()
  }

  async #sampleQuietly(): Promise<void> {
    if (this.#isSampling || performance.now() - this.#preciseAt < SAMPLE_EVERY_MS) return
    this.#isSampling = true
    // Without the database the monotonic clock goes on from the last sample.
    await this.#sample().catch(() => undefined)
    this.#isSampling = false
  }

  /** A SELECT has nothing to commit: a commit would add to the round trip, and so to the error of the sample. */
  async #sample(): Promise<void> {
    const askedAt = performance.now()
    const row = await firstRow<{ now: number }>(
      this.dataSource,
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    )
    if (row) this.note({ askedAt, answeredAt: performance.now(), referenceAt: row.now })
  }

  /** Adds a sample that came with another statement. */
  note(sample: ClockSample): void {
    if (sample.answeredAt - sample.askedAt <= PRECISE_MS) this.#preciseAt = sample.answeredAt
    const stepMs = this.clock.note(sample)
    if (Math.abs(stepMs) < MIN_REPORTED_STEP_MS) return
    this.#logger.warn({ stepMs: Math.round(stepMs) }, 'the clock of the database has stepped')
  }
}
