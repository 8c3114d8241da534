import { MasterDead, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { poll } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_SILENT_SECONDS, MasterMembership } from '../../media-nodes/master-membership.js'
import { MASTER_ID } from '../../platform/config/configuration.module.js'
import { SignallingGateway } from './signalling.gateway.js'

/** Shorter than the window in which the clients have to resume, less the time over which they are spread, ms. */
const RENEWAL_MS = MASTER_SILENT_SECONDS * 1_000
const CHECK_EVERY_MS = 100

/**
 * Sends the clients of this master to other masters when it has lost the database alone: the leader counts it as dead, and
 * evicts the participants that do not resume. A master that still renews its row keeps its clients: it was blocked, or
 * the clock of the database has stepped, or the database was lost to all and other masters have it back a little earlier.
 */
@Injectable()
export class DeadMaster implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(DeadMaster.name)
  readonly #ended = new AbortController()
  #subscription: BusSubscription | undefined

  constructor(
    private readonly bus: Bus,
    private readonly membership: MasterMembership,
    private readonly gateway: SignallingGateway,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  onApplicationBootstrap(): void {
    this.#subscription = this.bus.subscribe(SUBJECT.masterDead(this.masterId), MasterDead, () => {
      // Not returned: the end of the subscription would wait for it.
      void this.#countsAsDead().catch(() => undefined)
    })
  }

  async onModuleDestroy(): Promise<void> {
    this.#ended.abort()
    await this.#subscription?.stop()
  }

  async #countsAsDead(): Promise<void> {
    const at = performance.now()
    const hasRenewed = (): boolean => this.membership.hasRenewedSince(at)
    if (await poll(hasRenewed, { everyMs: CHECK_EVERY_MS, timeoutMs: RENEWAL_MS, signal: this.#ended.signal })) return
    this.#logger.warn('this master alone has lost the database, its clients resume at others')
    const count = await this.gateway.redirectClients()
    this.#logger.log({ clients: count }, 'the clients were sent to other masters')
  }
}
