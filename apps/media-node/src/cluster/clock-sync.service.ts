import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { newSecret, SUBJECT } from '@session-service/contract'
import { Bus, FACT_RPC } from '@session-service/messaging'
import { serviceClock } from '@session-service/server-kit'
import { NodeIdentity } from '../node/identity.js'

const EVERY_MS = 5_000
const ATTEMPT_MS = 2_000
/** Smaller steps are corrections of clocks that are synchronized. */
const WORTH_A_WARNING_MS = 500

/** Measures the clock of the masters, which is the database's, so that a wrong clock of this machine does not matter. */
@Injectable()
export class ClockSyncService implements OnModuleDestroy {
  readonly #logger = new Logger(ClockSyncService.name)
  #timer: NodeJS.Timeout | undefined
  #isAsking = false

  constructor(
    private readonly identity: NodeIdentity,
    private readonly bus: Bus,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#sync(), EVERY_MS)
    void this.#sync()
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer)
  }

  async #sync(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    // Without a master, or with one of an older version, the monotonic clock goes on from the last sample.
    await this.#sample().catch(() => undefined)
    this.#isAsking = false
  }

  async #sample(): Promise<void> {
    const { nodeId, bootId } = this.identity
    const fact = { kind: 'clock' as const, factId: newSecret(), nodeId, bootId }
    const askedAt = performance.now()
    const { now } = await this.bus.request(SUBJECT.fact(nodeId), FACT_RPC, fact, { timeoutMs: ATTEMPT_MS })
    if (now === undefined) return
    const stepMs = serviceClock.note({ askedAt, answeredAt: performance.now(), referenceAt: now })
    if (Math.abs(stepMs) < WORTH_A_WARNING_MS) return
    this.#logger.warn({ stepMs: Math.round(stepMs) }, 'the clock of the masters has stepped')
  }
}
