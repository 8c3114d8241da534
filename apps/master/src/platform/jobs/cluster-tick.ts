import { AlignedInterval } from '@session-service/server-kit'
import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { ClockSampler } from '../database/clock-sampler.js'
import { firstRow } from '../database/sql.js'
import { providersWith } from '../discovery/providers-with.js'
import { ClusterMembership } from './cluster-membership.js'
import { PeriodicRead, type PeriodicReader, type PeriodicRows, periodicStatement } from './periodic-read.js'
import { Scheduler } from './scheduler.js'

const TICK_MS = 1_000
/** While the cluster rests. A master that is silent for 5 s counts as dead. */
const RESTING_TICK_MS = 2_000

/**
 * The statement that a master sends every second, or each two while the cluster rests: it reports that the master is
 * alive, and reads the rows of all periodic readers. An idle master sends hardly any other. That of the leader proves
 * its lease.
 */
@Injectable()
export class ClusterTick implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly #logger = new Logger(ClusterTick.name)
  #readers: PeriodicReader[] = []
  #statement: string
  #interval: AlignedInterval | undefined
  #ticking: Promise<void> | undefined
  #isReading = true

  constructor(
    private readonly membership: ClusterMembership,
    private readonly scheduler: Scheduler,
    private readonly clock: ClockSampler,
    private readonly discovery: DiscoveryService,
  ) {
    this.#statement = periodicStatement(membership.renewal, [])
  }

  /** Before this master acts, the others know of it. */
  onModuleInit(): Promise<void> {
    return this.#exchange()
  }

  onApplicationBootstrap(): void {
    // The jobs of the scheduler use what the other readers have received.
    this.#readers = [...providersWith<PeriodicReader>(this.discovery, PeriodicRead), this.scheduler]
    const selects = this.#readers.map(({ periodicRead }) => periodicRead)
    this.#statement = periodicStatement(this.membership.renewal, selects)
    this.#interval = new AlignedInterval(() => {
      this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined))
    }, TICK_MS)
  }

  /** The membership continues until the shutdown is complete: the clients move to other masters meanwhile. */
  onModuleDestroy(): void {
    this.#isReading = false
  }

  async onApplicationShutdown(): Promise<void> {
    this.#interval?.stop()
    // A report in flight could be written after this master has left, and make it look alive again.
    await this.#ticking
    await this.membership.leave().catch(() => undefined)
  }

  async #tick(): Promise<void> {
    this.#interval?.every(this.membership.isResting ? RESTING_TICK_MS : TICK_MS)
    try {
      await this.#exchange()
    } catch (error) {
      this.#logger.warn({ err: error }, 'the state of the cluster could not be read')
    }
  }

  async #exchange(): Promise<void> {
    const { values, done } = this.membership.report()
    const askedAt = performance.now()
    const answer = await this.scheduler.lease.query((queryable) =>
      firstRow<PeriodicRows>(queryable, this.#statement, values),
    )
    if (!answer) return
    done(answer.renewed)
    if (!this.#isReading) return
    this.clock.note({ askedAt, answeredAt: performance.now(), referenceAt: answer.now })
    this.#readers.forEach((reader, nth) => reader.receive(answer.rows[nth] ?? [], askedAt))
  }
}
