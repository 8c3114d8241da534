import { EXPERIENCE_LIMITS, SIGNALLING_LIMITS } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { TokenBucket } from './token-bucket.js'

const REPORTS = { burst: 1, perSecond: 1_000 / EXPERIENCE_LIMITS.every }

/** The rate limits of one client: its calls, their bytes, and the deliveries that its signals cause. */
export class ClientBudget {
  readonly #calls: TokenBucket
  readonly #bytes: TokenBucket
  readonly #deliveries: TokenBucket
  readonly #reports: TokenBucket

  constructor(now: number) {
    this.#calls = new TokenBucket(SIGNALLING_LIMITS.calls, now)
    this.#bytes = new TokenBucket(SIGNALLING_LIMITS.bytes, now)
    this.#deliveries = new TokenBucket(SIGNALLING_LIMITS.deliveries, now)
    this.#reports = new TokenBucket(REPORTS, now)
  }

  /** The budget that a frame of `bytes`, which counts as `calls`, exceeds; undefined when it is within both. */
  exceededBy(bytes: number, now: number, calls = 1): 'calls' | 'bytes' | undefined {
    if (!this.#calls.spend(now, calls)) return 'calls'
    return this.#bytes.spend(now, bytes) ? undefined : 'bytes'
  }

  /** Whether a signal of `bytes` may be sent to that many recipients. */
  maySend(bytes: number, recipients: number, now: number): boolean {
    return this.#deliveries.spend(now, (bytes + SIGNALLING_LIMITS.deliveryOverhead) * recipients)
  }

  /** Whether a report of the client's experience counts now. */
  mayReport(now: number): boolean {
    return this.#reports.spend(now)
  }

  isFull(now: number): boolean {
    return [this.#calls, this.#bytes, this.#deliveries, this.#reports].every((bucket) => bucket.isFull(now))
  }
}

/** The budgets of participants. They outlive sockets, so that resuming does not fill them. */
@Injectable()
export class ClientBudgets {
  readonly #budgets = new Map<string, ClientBudget>()

  get size(): number {
    return this.#budgets.size
  }

  /** The budget of a participant, created at its first use. */
  of(connectionId: string, now: number): ClientBudget {
    const existing = this.#budgets.get(connectionId)
    if (existing) return existing
    const budget = new ClientBudget(now)
    this.#budgets.set(connectionId, budget)
    return budget
  }

  /** Removes budgets that equal new ones. */
  forgetFull(now: number): void {
    for (const [connectionId, budget] of this.#budgets) {
      if (budget.isFull(now)) this.#budgets.delete(connectionId)
    }
  }
}
