import { Bus } from '@session-service/messaging'
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { SERVING_MASTERS } from '../../media-nodes/master-membership.js'
import { MASTER_ID } from '../../platform/config/configuration.module.js'
import { PeriodicRead, type PeriodicReader } from '../../platform/jobs/periodic-read.js'
import { SignallingGateway } from './signalling.gateway.js'

/** Longer than processes take to connect again after an outage of the bus for all, one after another, ms. */
const ALONE_MS = 10_000

/**
 * Sends the clients of this master to other masters when it has lost the bus alone: it cannot serve them, and they miss
 * what happens in their sessions. Rows of masters that hear media nodes prove that others have the bus.
 */
@PeriodicRead()
@Injectable()
export class LoneMaster implements PeriodicReader, OnModuleInit, OnModuleDestroy {
  readonly periodicRead = SERVING_MASTERS
  readonly #logger = new Logger(LoneMaster.name)
  /** Since when others have had the bus and this master has not, by `performance.now()`. */
  #aloneSince: number | undefined
  #unsubscribe: (() => void) | undefined

  constructor(
    private readonly bus: Bus,
    private readonly gateway: SignallingGateway,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  onModuleInit(): void {
    // It may have had the bus between two reads.
    this.#unsubscribe = this.bus.onStatus(() => (this.#aloneSince = undefined))
  }

  onModuleDestroy(): void {
    this.#unsubscribe?.()
  }

  receive(serving: readonly object[], askedAt: number): void {
    const haveOthers = (serving as { id: string }[]).some(({ id }) => id !== this.masterId)
    if (this.bus.connected || !haveOthers) {
      this.#aloneSince = undefined
      return
    }
    this.#aloneSince ??= askedAt
    if (askedAt - this.#aloneSince < ALONE_MS) return
    this.#aloneSince = askedAt
    void this.#sendAway()
  }

  async #sendAway(): Promise<void> {
    const count = await this.gateway.redirectClients()
    if (count > 0) this.#logger.warn(`this master alone has lost the bus, ${count} clients resume at others`)
  }
}
