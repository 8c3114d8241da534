import { setTimeout as delay } from 'node:timers/promises'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { EventLog } from '../event-log.js'
import { OutboxRepository, type QueuedEvent } from '../outbox.repository.js'
import { WebhookPost } from './webhook-post.js'
import { retryDelay } from './webhook-schedule.js'

/** Events of other masters, and those whose time has come, are looked for this often. */
const LOOK_EVERY_MS = 500
/** Beyond the time-out of an attempt: until then nobody else posts the event. */
const LEASE_SLACK_MS = 5_000
const PURGE_EVERY_MS = 3_600_000
/** An attempt under way when the server stops may take this much longer. */
const LAST_MS = 2_000

/**
 * Posts what the outbox holds, at least once, in order within a session, sessions side by side. Every master posts;
 * a claim of the database decides which one has an event.
 */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookSender.name)
  private readonly stopping = new AbortController()
  private readonly inFlight = new Set<Promise<void>>()
  private receiver: WebhookPost | undefined
  private timer: NodeJS.Timeout | undefined
  private looking: Promise<void> | undefined
  private wantsAnotherLook = false
  private lastPurge = -Infinity
  private readonly attempts = metrics.counter('webhook_attempts_total', {
    help: 'Attempts to post an event, by outcome',
    labels: { outcome: ['delivered', 'failed', 'refused', 'timeout', 'given_up'] },
  })

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    if (!config.SERVICE_WEBHOOK) return
    metrics.sampled('webhook_pending', 'Events that wait to be posted', () => outbox.count('pending'))
    metrics.sampled('webhook_dead', 'Events that were given up', () => outbox.count('dead'))
  }

  onApplicationBootstrap(): void {
    const { config } = this
    if (!config.SERVICE_WEBHOOK) return
    this.receiver = new WebhookPost({
      endpoint: config.SERVICE_WEBHOOK_ENDPOINT,
      headers: config.SERVICE_WEBHOOK_HEADERS,
      secrets: config.SERVICE_WEBHOOK_SECRETS,
      allowedAddresses: config.SERVICE_WEBHOOK_ALLOWED_ADDRESSES,
      caFile: config.SERVICE_WEBHOOK_CA_FILE,
      timeoutMs: config.SERVICE_WEBHOOK_TIMEOUT,
      now: () => this.clock.now(),
    })
    this.events.onRecorded(() => this.look())
    this.look()
  }

  async onModuleDestroy(): Promise<void> {
    clearTimeout(this.timer)
    const last = delay(LAST_MS, undefined, { ref: false }).then(() => this.stopping.abort())
    this.isStopping = true
    await this.looking
    await Promise.race([Promise.allSettled(this.inFlight), last])
    this.stopping.abort()
    await Promise.allSettled(this.inFlight)
    this.receiver?.close()
  }
  private isStopping = false

  /** Looks for due events now; while it is looking, once more afterwards. */
  look(): void {
    if (this.isStopping) return
    if (this.looking) {
      this.wantsAnotherLook = true
      return
    }
    clearTimeout(this.timer)
    this.wantsAnotherLook = false
    this.looking = this.claimDue().finally(() => {
      this.looking = undefined
      if (this.isStopping) return
      if (this.wantsAnotherLook && this.room > 0) this.look()
      else this.timer = setTimeout(() => this.look(), LOOK_EVERY_MS)
    })
  }

  private get room(): number {
    return this.config.SERVICE_WEBHOOK_PARALLEL - this.inFlight.size
  }

  private async claimDue(): Promise<void> {
    try {
      await this.purgeOld()
      if (this.room <= 0) return
      const leaseMs = this.config.SERVICE_WEBHOOK_TIMEOUT + LEASE_SLACK_MS
      for (const event of await this.outbox.claim(this.room, leaseMs)) this.begin(event)
    } catch (error) {
      this.logger.warn({ err: error }, 'the outbox could not be read')
    }
  }

  private begin(event: QueuedEvent): void {
    const attempt = this.deliver(event)
      .catch((error: unknown) => this.logger.warn({ err: error }, 'the fate of an event could not be stored'))
      .finally(() => {
        this.inFlight.delete(attempt)
        // The session's next event may be due now.
        this.look()
      })
    this.inFlight.add(attempt)
  }

  private async deliver({ position, id, name, payload, attempts }: QueuedEvent): Promise<void> {
    const body = JSON.stringify({ event: name, ...(JSON.parse(payload) as object) })
    const result = await this.post(id, body)
    if (!result) return this.outbox.release(position)
    this.attempts.inc({ outcome: result.outcome })
    if (result.outcome === 'delivered') return this.outbox.delivered(position)
    const { config } = this
    const rules = { firstMs: config.SERVICE_WEBHOOK_FIRST_RETRY, longestMs: config.SERVICE_WEBHOOK_LONGEST_RETRY }
    const asked = Math.min(result.retryAfterMs, config.SERVICE_WEBHOOK_GIVE_UP_AFTER * 1_000)
    const delayMs = Math.max(retryDelay(attempts + 1, rules), asked)
    const isDead = await this.outbox.failed(position, result.error, delayMs, config.SERVICE_WEBHOOK_GIVE_UP_AFTER)
    if (isDead) this.attempts.inc({ outcome: 'given_up' })
    this.logger.warn(`event ${id} (${name}) was not taken: ${result.error}${isDead ? '; it is given up' : ''}`)
  }

  /** Undefined when the server stops meanwhile: the attempt does not count. */
  private async post(id: string, body: string): Promise<Awaited<ReturnType<WebhookPost['post']>> | undefined> {
    const result = await this.receiver?.post(id, body, this.stopping.signal)
    return result?.outcome !== 'delivered' && this.stopping.signal.aborted ? undefined : result
  }

  private async purgeOld(): Promise<void> {
    if (performance.now() - this.lastPurge < PURGE_EVERY_MS) return
    this.lastPurge = performance.now()
    await this.outbox.purge({ olderThanDays: this.config.SERVICE_WEBHOOK_KEEP_DEAD })
  }
}
