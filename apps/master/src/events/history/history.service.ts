import {
  type HistorySessionDetailsView,
  type HistorySessionListView,
  type HistorySessionView,
  ServiceError,
} from '@session-service/contract'
import { HISTORY_PAGE, type HistoryQuery } from '@session-service/contract/rest-api'
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { Job, type JobRun } from '../../platform/jobs/job.js'
import { EventLog, hasSummaries } from '../event-log.js'
import { OutboxReader } from '../outbox-reader.js'
import { OutboxRepository, type QueuedEvent } from '../outbox.repository.js'
import type { SessionHistoryEntity } from './session-history.entity.js'
import { type HistoryPosition, SessionHistoryRepository } from './session-history.repository.js'
import { type SessionSummary, summarize } from './summary.js'
import { summaryDocuments } from './summary-documents.js'

const PURGE_EVERY_MS = 3_600_000
const PURGE_BATCH = 1_000
/** Ended sessions that share statements. The records of all of them are in memory at the same time. */
const SUMMARIZED_TOGETHER = 20

/** The history of ended sessions: collects the records of live ones, summarizes them at their end, deletes old ones. */
@Injectable()
export class HistoryService implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(HistoryService.name)
  readonly #reader: OutboxReader

  constructor(
    private readonly outbox: OutboxRepository,
    events: EventLog,
    private readonly history: SessionHistoryRepository,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#reader = new OutboxReader({
      outbox,
      events,
      consumer: 'history',
      handle: (records, manager) => this.#store(records, manager),
      onError: (error) => this.#logger.warn({ err: error }, 'writing the history failed, will retry'),
    })
  }

  onApplicationBootstrap(): void {
    if (hasSummaries(this.config)) this.#reader.start()
  }

  async onModuleDestroy(): Promise<void> {
    await this.#reader.stop()
  }

  /** @param prefix only sessions whose ids start with it */
  async list(query: HistoryQuery, prefix = ''): Promise<HistorySessionListView> {
    this.#assertOn()
    const { session, mediaNode, reason, from, to, limit, after } = query
    const time = (value: string | undefined): number | undefined => (value === undefined ? undefined : Number(value))
    const most = limit === undefined ? HISTORY_PAGE.default : Number(limit)
    const filter = { prefix, sessionId: session, mediaNodeId: mediaNode, reason, from: time(from), to: time(to) }
    // One more than the page has shows whether there is a next page.
    const found = await this.history.find(filter, most + 1, after === undefined ? undefined : positionOf(after))
    const content = found.slice(0, most)
    const last = found.length > most ? content.at(-1) : undefined
    return {
      numberOfElements: content.length,
      content: content.map(sessionView),
      ...(last && { next: `${last.destroyedAt}-${last.uniqueSessionId}` }),
    }
  }

  async get(uniqueSessionId: string): Promise<HistorySessionDetailsView> {
    this.#assertOn()
    const found = await this.history.get(uniqueSessionId)
    if (!found) throw notFound(uniqueSessionId)
    return { ...sessionView(found), ...found.details }
  }

  async delete(uniqueSessionId: string): Promise<void> {
    this.#assertOn()
    if (!(await this.history.delete(uniqueSessionId))) throw notFound(uniqueSessionId)
  }

  /** Also while the history is off. */
  @Job({ name: 'old history', scope: 'leader', everyMs: PURGE_EVERY_MS, isSlow: true })
  async purgeOld({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    const days = this.config.SERVICE_HISTORY_RETENTION
    const purge = async (): Promise<number> => (days === 0 ? 0 : await this.history.deleteOld(days, PURGE_BATCH))
    while (!isStopping() && (await purge()) === PURGE_BATCH);
    while (!isStopping() && (await this.history.deleteLeftover(PURGE_BATCH)) === PURGE_BATCH);
  }

  /** Summarizes the sessions of the batch that have ended; changes of recordings may follow later. */
  async #store(events: readonly QueuedEvent[], manager: EntityManager): Promise<void> {
    await this.history.addRecords(manager, events)
    const sessionsOf = (event: QueuedEvent['name']): string[] => [
      ...new Set(events.filter(({ name }) => name === event).map(({ sessionKey }) => sessionKey)),
    ]
    const changed = sessionsOf('recordingStatusChanged')
    const before = changed.length === 0 ? [] : await this.history.storedOf(manager, changed)
    const ended = sessionsOf('sessionDestroyed')
    for (let at = 0; at < ended.length; at += SUMMARIZED_TOGETHER)
      await this.#summarize(ended.slice(at, at + SUMMARIZED_TOGETHER), manager)
    if (before.length === 0) return
    for (const [session, records] of await this.history.takeRecords(manager, before)) {
      const changes = records.flatMap(({ name, payload }) => (name === 'recordingStatusChanged' ? [payload] : []))
      await this.history.addStatuses(manager, session, changes)
    }
  }

  async #summarize(ended: readonly string[], manager: EntityManager): Promise<void> {
    const records = await this.history.takeRecords(manager, ended)
    const summaries = [...records.values()].flatMap((ofSession) => summarize(ofSession) ?? [])
    if (summaries.length === 0) return
    if (this.config.SERVICE_HISTORY) await this.#insert(summaries, manager)
    if (this.config.SERVICE_PRO_SEARCH) await this.outbox.add(manager, 'search', summaries.flatMap(summaryDocuments))
  }

  async #insert(summaries: readonly SessionSummary[], manager: EntityManager): Promise<void> {
    for (const uniqueSessionId of await this.history.insert(manager, summaries))
      this.#logger.warn(
        { uniqueSessionId },
        'the history has a session with this unique id, the later one is not stored',
      )
  }

  #assertOn(): void {
    if (!this.config.SERVICE_HISTORY)
      throw new ServiceError('DISABLED', 'the history is disabled: SERVICE_HISTORY is false')
  }
}

const notFound = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `the history has no session with the unique id ${id}`, { subject: 'session' })

function positionOf(after: string): HistoryPosition {
  const [destroyedAt = ''] = after.split('-', 1)
  return { destroyedAt: Number(destroyedAt), uniqueSessionId: after.slice(destroyedAt.length + 1) }
}

const sessionView = (row: SessionHistoryEntity): HistorySessionView => ({
  id: row.sessionId,
  object: 'historySession',
  uniqueSessionId: row.uniqueSessionId,
  customSessionId: row.customSessionId,
  createdAt: row.createdAt,
  destroyedAt: row.destroyedAt,
  duration: row.duration,
  reason: row.reason,
  mediaMode: row.mediaMode,
  recordingMode: row.recordingMode,
  mediaNodeId: row.mediaNodeId,
  numberOfUsers: row.numberOfUsers,
  numberOfConnections: row.numberOfConnections,
  numberOfRecordings: row.numberOfRecordings,
})
