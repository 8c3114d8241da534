import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type ActiveSpan,
  backoffMs,
  markHandled,
  metrics,
  startSpan,
  withoutSpan,
  withSpan,
} from '@session-service/server-kit'
import { isClusterEvent } from '@session-service/contract'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { EventLog } from '../event-log.js'
import { type FailedPost, WebhookPost } from './webhook-post.js'
import { type ClaimedEvent, WebhookQueueRepository } from './webhook-queue.repository.js'

/** Interval of reading the whole outbox, ms: for events of other masters and for retries. */
const POLL_EVERY_MS = 500
/** A claim lasts this much longer than the time-out of an attempt, ms; no other master posts the event until then. */
const LEASE_SLACK_MS = 5_000
/**
 * A claim is followed by a rest of its length, in which events come together; by some times of it after a slow one, ms,
 * because the queue is long then.
 */
const SLOW_CLAIM_MS = 20
const REST_FACTOR = 4
/** A session with many events keeps its place among the parallel ones this long, ms; then other sessions have their turn. */
const TURN_MS = 1_000
/** More events are not counted: each scrape would read all of them, and give up after its time limit. */
const MOST_COUNTED = 100_000
/** Time that attempts in progress have at shutdown, ms. */
const SHUTDOWN_MS = 2_000

/**
 * Posts the events of the outbox at least once: those of one session in order, those of different sessions at the same
 * time. Every master posts; a claim in the database decides which one posts an event.
 */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(WebhookSender.name)
  readonly #stopping = new AbortController()
  readonly #inFlight = new Set<Promise<void>>()
  #receiver: WebhookPost | undefined
  #timer: NodeJS.Timeout | undefined
  #claiming: Promise<void> | undefined
  #isClaimRequested = false
  /** The last claim did not have enough capacity, or events have become due since: an end of a turn is followed by a claim. */
  #mayMoreBeDue = false
  /** Times by `performance.now()`. */
  #lastRecordedAt = -Infinity
  #nextSearchAt = 0
  #restsUntil = 0
  #isStopping = false
  readonly #attempts = metrics.counter('webhook_attempts_total', {
    help: 'Attempts to post an event, by outcome',
    labels: { outcome: ['delivered', 'failed', 'refused', 'timeout', 'given_up'] },
  })

  constructor(
    private readonly queue: WebhookQueueRepository,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    if (!config.SERVICE_WEBHOOK) return
    const upTo = `counted up to ${MOST_COUNTED.toLocaleString('en')}`
    metrics.sampled('webhook_pending', `Events that wait to be posted, ${upTo}`, () => queue.pending(MOST_COUNTED))
    metrics.sampled('webhook_dead', `Events that were given up, ${upTo}`, () => queue.dead(MOST_COUNTED))
  }

  onApplicationBootstrap(): void {
    const { config } = this
    if (!config.SERVICE_WEBHOOK) return
    this.#receiver = new WebhookPost({
      endpoint: config.SERVICE_WEBHOOK_ENDPOINT,
      headers: config.SERVICE_WEBHOOK_HEADERS,
      secrets: config.SERVICE_WEBHOOK_SECRETS,
      allowedAddresses: config.SERVICE_WEBHOOK_ALLOWED_ADDRESSES,
      caFile: config.SERVICE_WEBHOOK_CA_FILE,
      timeoutMs: config.SERVICE_WEBHOOK_TIMEOUT,
      now: () => this.clock.now(),
    })
    this.events.onRecorded(() => {
      this.#lastRecordedAt = performance.now()
      this.poll()
    })
    this.poll()
  }

  async onModuleDestroy(): Promise<void> {
    clearTimeout(this.#timer)
    const timer = setTimeout(() => this.#stopping.abort(), SHUTDOWN_MS)
    this.#isStopping = true
    await this.#claiming
    await Promise.allSettled(this.#inFlight)
    clearTimeout(timer)
    this.#receiver?.close()
  }

  /** Claims due events now; during a claim, once more after it. */
  poll(): void {
    if (this.#isStopping) return
    if (this.#claiming) {
      this.#isClaimRequested = true
      return
    }
    clearTimeout(this.#timer)
    const restMs = this.#restsUntil - performance.now()
    if (restMs > 0) {
      this.#timer = setTimeout(() => this.poll(), restMs)
      return
    }
    this.#isClaimRequested = false
    this.#claiming = this.#claimDue().finally(() => {
      this.#claiming = undefined
      if (this.#isStopping) return
      if (this.#isClaimRequested && this.#capacity > 0) this.poll()
      else this.#timer = setTimeout(() => this.poll(), POLL_EVERY_MS)
    })
  }

  get #leaseMs(): number {
    return this.config.SERVICE_WEBHOOK_TIMEOUT + LEASE_SLACK_MS
  }

  get #capacity(): number {
    return this.config.SERVICE_WEBHOOK_PARALLEL - this.#inFlight.size
  }

  async #claimDue(): Promise<void> {
    try {
      // Deliveries that were stored together end in the same turn of the event loop.
      await nextTurn()
      this.#mayMoreBeDue = this.#capacity <= 0
      if (this.#mayMoreBeDue) return
      const startedAt = performance.now()
      await this.#startDue()
      const endedAt = performance.now()
      const tookMs = endedAt - startedAt
      this.#restsUntil = endedAt + (tookMs < SLOW_CLAIM_MS ? 1 : REST_FACTOR) * tookMs
    } catch (error) {
      this.#logger.warn({ err: error }, 'claiming events from the outbox failed, will retry')
    }
  }

  async #startDue(): Promise<void> {
    if ((await this.#startFrom('oldest')) === 'enough') return
    if (this.#capacity <= 0 || performance.now() < this.#nextSearchAt) return
    // Events behind many that cannot be posted yet are not among the oldest. A search that finds none rests.
    const found = await this.#startFrom('all')
    this.#nextSearchAt = found === 'none' ? performance.now() + POLL_EVERY_MS : 0
  }

  async #startFrom(heads: 'oldest' | 'all'): Promise<'none' | 'some' | 'enough'> {
    const limit = this.#capacity
    const events = await this.queue.claim(heads, limit, this.#leaseMs)
    for (const event of events) this.#start(event)
    if (events.length < limit) return events.length === 0 ? 'none' : 'some'
    this.#mayMoreBeDue = true
    return 'enough'
  }

  #start(event: ClaimedEvent): void {
    // A claim starts within the request that recorded an event, and also claims events of others.
    const turn = withoutSpan(() => this.#deliverInTurn(event))
      .catch((error: unknown) =>
        this.#logger.warn({ err: error }, 'storing the outcome of an attempt failed, the event is posted again'),
      )
      .finally(() => {
        this.#inFlight.delete(turn)
        if (this.#mayMoreBeDue) this.poll()
      })
    this.#inFlight.add(turn)
  }

  /** Posts the event and the next ones of its session, until one fails or the turn is over. */
  async #deliverInTurn(first: ClaimedEvent): Promise<void> {
    const endsAt = performance.now() + TURN_MS
    const mayContinue = (): boolean => !this.#isStopping && performance.now() < endsAt
    let claimed = [first]
    while (claimed.length > 0) claimed = await this.#deliver(claimed, mayContinue)
  }

  /**
   * Posts claimed events of one session. An outcome is stored while the next event is posted. Returns the session's next
   * events, claimed, if they may be posted at once.
   */
  async #deliver(claimed: readonly ClaimedEvent[], mayContinue: () => boolean): Promise<ClaimedEvent[]> {
    const stored: Promise<void>[] = []
    for (const [index, event] of claimed.entries()) {
      const isCutOff = index > 0 && !mayContinue()
      if (isCutOff || !(await this.#attempt(event))) {
        this.#mayMoreBeDue ||= isCutOff
        await Promise.all([...stored, this.queue.release(claimed.slice(isCutOff ? index : index + 1))])
        return []
      }
      if (index === claimed.length - 1) break
      const storing = this.queue.delivered(event)
      // A failure is thrown below, after the posts that are in progress.
      markHandled(storing)
      stored.push(storing)
    }
    await Promise.all(stored)
    const last = claimed.at(-1)
    if (!last) return []
    const askedAt = performance.now()
    const isOver = !mayContinue()
    if (isOver) await this.queue.delivered(last)
    const next = isOver ? [] : await this.queue.deliveredAndClaimNext(last, this.#leaseMs)
    // A claim in the meantime does not find an event of this session, which waited for the last one.
    if (next.length === 0 && (isOver || this.#lastRecordedAt >= askedAt)) this.#mayMoreBeDue = true
    return next
  }

  /** Posts an event and stores a failure. Returns whether the receiver has it. */
  async #attempt(event: ClaimedEvent): Promise<boolean> {
    const { id, name, payload } = event
    const body = JSON.stringify({ event: name, ...(JSON.parse(payload) as object) })
    const span = spanOf(event)
    const result = await withSpan(span, () => this.#post(id, body))
    if (result?.outcome !== 'delivered') span?.fail(result?.outcome ?? 'aborted')
    span?.end()
    // Events of sessions may have waited for the first attempt of one of the cluster.
    if (isClusterEvent(name)) this.#mayMoreBeDue = true
    if (result) this.#attempts.inc({ outcome: result.outcome })
    if (result?.outcome === 'delivered') return true
    if (result) await this.#fail(event, result)
    else await this.queue.release([event])
    return false
  }

  async #fail(event: ClaimedEvent, result: FailedPost): Promise<void> {
    const { id, name, attempts } = event
    const { config } = this
    const backoff = { firstMs: config.SERVICE_WEBHOOK_FIRST_RETRY, longestMs: config.SERVICE_WEBHOOK_LONGEST_RETRY }
    const requestedMs = Math.min(result.retryAfterMs, config.SERVICE_WEBHOOK_GIVE_UP_AFTER * 1_000)
    const delayMs = Math.max(backoffMs(attempts + 1, backoff), requestedMs)
    const isDead = await this.queue.failed(event, result.error, delayMs, config.SERVICE_WEBHOOK_GIVE_UP_AFTER)
    if (isDead) {
      this.#attempts.inc({ outcome: 'given_up' })
      this.#mayMoreBeDue = true
    }
    this.#logger.warn(
      { eventId: id, event: name },
      `posting the event failed: ${result.error}${isDead ? '; giving up' : ''}`,
    )
  }

  /** Undefined when the shutdown cut the attempt off: it does not count. */
  async #post(id: string, body: string): Promise<Awaited<ReturnType<WebhookPost['post']>> | undefined> {
    const result = await this.#receiver?.post(id, body, this.#stopping.signal)
    return result?.outcome !== 'delivered' && this.#stopping.signal.aborted ? undefined : result
  }
}

/** A span of the attempt, in the trace of the change that the event reports. */
function spanOf({ id, name, attempts, traceContext }: ClaimedEvent): ActiveSpan | undefined {
  if (traceContext === null) return undefined
  const attributes = { 'event.id': id, 'event.attempt': attempts + 1 }
  return startSpan(`webhook ${name}`, { kind: 'client', parent: traceContext, attributes })
}
