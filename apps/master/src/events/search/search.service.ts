import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { EventLog } from '../event-log.js'
import { OutboxReader } from '../outbox-reader.js'
import { OutboxRepository, type QueuedEvent } from '../outbox.repository.js'
import {
  BulkAnswer,
  bulkBody,
  type BulkItem,
  bulkItems,
  type BulkOutcome,
  INDEX,
  INDEX_BODY,
  inRequests,
  isTemporary,
  outcomeOf,
} from './bulk.js'

/** A database connection is held for this long, ms. */
const TIMEOUT_MS = 10_000
/** The HTTP status of a request that exceeds a limit of its receiver. */
const TOO_LARGE = 413

/** Sends events and summaries of sessions to the search server. They stay in the outbox while it is not available. */
@Injectable()
export class SearchService implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(SearchService.name)
  readonly #reader: OutboxReader
  readonly #stopping = new AbortController()
  /** As far as this master can ensure it. */
  #hasIndex = false
  readonly #documents = metrics.counter('search_documents_total', {
    help: 'Documents for the search server, by result',
    labels: { result: ['stored', 'refused'] as const },
  })

  constructor(
    outbox: OutboxRepository,
    events: EventLog,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#reader = new OutboxReader({
      outbox,
      events,
      consumer: 'search',
      handle: (queued) => this.#send(queued),
      onError: (error) =>
        this.#logger.warn({ err: error }, 'sending documents to the search server failed, will retry'),
    })
  }

  onApplicationBootstrap(): void {
    if (this.config.SERVICE_PRO_SEARCH) this.#reader.start()
  }

  /** A request in progress is aborted: another master repeats it with the same ids. */
  async onModuleDestroy(): Promise<void> {
    this.#stopping.abort()
    await this.#reader.stop()
  }

  async #send(queued: readonly QueuedEvent[]): Promise<void> {
    if (!this.#hasIndex) await this.#createIndex()
    for (const items of inRequests(bulkItems(queued, this.config.SERVICE_PRO_CLUSTER_ID))) await this.#post(items)
  }

  /**
   * The bulk request would create the index as well, but with dates. Documents are sent also when the server refuses.
   * @throws Error when the server may create it later
   */
  async #createIndex(): Promise<void> {
    const response = await this.#request('PUT', INDEX, 'application/json', INDEX_BODY)
    const answer = await response.text()
    if (isTemporary(response.status)) throw new Error(`the search server answered ${response.status}`)
    this.#hasIndex = true
    if (response.ok || answer.includes('resource_already_exists_exception')) return
    this.#logger.warn({ status: response.status, index: INDEX }, 'the search server refused to create the index')
  }

  #request(method: string, path: string, type: string, body: string): Promise<Response> {
    return fetch(`${this.config.SERVICE_PRO_SEARCH_HOST}/${path}`, {
      method,
      headers: { 'content-type': type, ...this.#authorization },
      body,
      redirect: 'error',
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
  }

  /** @throws Error when the server did not store all documents that it may store later */
  async #post(items: readonly BulkItem[]): Promise<void> {
    const response = await this.#request('POST', '_bulk', 'application/x-ndjson', bulkBody(items))
    if (!response.ok) await response.body?.cancel()
    if (response.status === TOO_LARGE) return this.#postLess(items)
    if (!response.ok) {
      // An account may get its rights, or another server may answer at the next attempt.
      this.#hasIndex = false
      throw new Error(`the search server answered ${response.status}`)
    }
    const { stored, refused, mustRetry } = outcomeOf(BulkAnswer.parse(await response.json()))
    if (mustRetry) throw new Error('the search server is overloaded')
    this.#documents.inc({ result: 'stored' }, stored)
    this.#noteRefused(refused)
  }

  /** The server, or a proxy before it, takes no request of this size. */
  async #postLess(items: readonly BulkItem[]): Promise<void> {
    const half = Math.ceil(items.length / 2)
    if (half === items.length) return this.#noteRefused(items.map(({ id }) => ({ id, reason: 'too large' })))
    await this.#post(items.slice(0, half))
    await this.#post(items.slice(half))
  }

  #noteRefused(refused: BulkOutcome['refused']): void {
    if (refused.length === 0) return
    this.#documents.inc({ result: 'refused' }, refused.length)
    this.#logger.error({ count: refused.length, first: refused[0] }, 'the search server refused documents')
  }

  get #authorization(): Record<string, string> {
    const { SEARCH_USERNAME: user, SEARCH_PASSWORD: password } = this.config
    if (user === '') return {}
    return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
  }
}
