import { newEventId } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { prepared } from '../platform/database/prepared-statements.js'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { type EventDraft, isHistoryRecord } from './event-drafts.js'
import { logLineOf } from './event-lines.js'
import { inOrder, lastTimes, sessionOf } from './event-order.js'
import type { Consumer } from './consumers.js'
import { insertRecent } from './recent-events.service.js'

/** The session key of events of the cluster: they keep their order among themselves as those of a session do. */
const CLUSTER_KEY = 'cluster'

/** Records events in the transaction of their change and gives their ids; does nothing when events are off. */
export type RecordEvents = (...events: readonly EventDraft[]) => Promise<string[]>

export interface TransactionOptions {
  /** Id of an event, of the cluster for example, that is posted to the webhook before these. */
  after?: string | undefined
}

/** The sessions that a change locks. */
interface LockedSessions {
  /** The result of `sessionLock`. */
  lock: KeyedStatement<object>
  keys: readonly unknown[]
  /** Locks them also while events are off. */
  isAlwaysLocked?: boolean
}

/**
 * Locks the sessions that match a condition on the session row `s`, in the order of ids: two changes of several sessions
 * cannot deadlock.
 */
export const sessionLock = (condition: (isKey: string) => string, type?: 'bytea'): KeyedStatement<object> =>
  new KeyedStatement((is) => `SELECT 1 FROM session s WHERE ${condition(is)} ORDER BY s.id FOR NO KEY UPDATE`, type)
export const LOCK_BY_ID = sessionLock((is) => `s.id ${is}`)
export const LOCK_BY_USE = sessionLock((is) => `s.unique_id ${is}`)

/**
 * The sessions of a batch that changes rows which the end of a session deletes: without their locks, a statement that
 * changes several could meet a deadlock with that.
 */
export const sessionsOfBatch = (lock: KeyedStatement<object>, keys: readonly string[]): LockedSessions => ({
  lock,
  keys,
  isAlwaysLocked: keys.length > 1,
})

/** Whether ended sessions are summarized, for the history or the search server. */
export const hasSummaries = ({
  SERVICE_HISTORY,
  SERVICE_PRO_SEARCH,
}: Pick<MasterConfig, 'SERVICE_HISTORY' | 'SERVICE_PRO_SEARCH'>): boolean => SERVICE_HISTORY || SERVICE_PRO_SEARCH

const INSERT_ENTRIES = prepared(`
  INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, trace_context, after_id)
  SELECT r.id, r.consumer, r.session_key, r.name, r.payload, r.created_at, r.trace_context, $8
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
    WITH ORDINALITY AS r(id, consumer, session_key, name, payload, created_at, trace_context, nth)
  ORDER BY r.nth`)

// Hand-written: they return the times from before the update.
const RENEW_LAST_TIME = prepared(`
  WITH former AS MATERIALIZED (SELECT id, told_at FROM session WHERE unique_id = $1)
  UPDATE session SET told_at = greatest(told_at, $2) WHERE id = (SELECT id FROM former)
  RETURNING unique_id AS session, (SELECT told_at FROM former) AS "lastAt"`)
const RENEW_LAST_TIMES = `
  UPDATE session s SET told_at = greatest(b.told_at, r.at)
  FROM unnest($1::text[], $2::bigint[]) AS r(unique_id, at) JOIN session b USING (unique_id)
  WHERE s.id = b.id RETURNING b.unique_id AS session, b.told_at AS "lastAt"`

/**
 * Writes events as rows of the outbox, in the transaction of the change that they report and under the session's row
 * lock, so that positions have the order of the changes. With neither consumers, the dashboard nor log lines it reads and
 * writes nothing.
 */
@Injectable()
export class EventLog {
  readonly #logger = new Logger(EventLog.name)
  readonly #listeners: (() => void)[] = []

  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  get isOn(): boolean {
    const { SERVICE_CDR, SERVICE_WEBHOOK, SERVICE_PRO_DASHBOARD, SERVICE_LOG_EVENTS } = this.config
    return SERVICE_CDR || SERVICE_WEBHOOK || SERVICE_PRO_DASHBOARD || SERVICE_LOG_EVENTS || hasSummaries(this.config)
  }

  /** Calls the listener after each commit of this master that recorded an event. */
  onRecorded(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Runs a change of one statement: in a transaction that locks the sessions with events on or `isAlwaysLocked`, else
   * without one. Sessions that the change creates need no lock: other transactions do not see them yet.
   */
  change<T>(
    sessions: LockedSessions | 'created',
    run: (manager: EntityManager, record: RecordEvents) => Promise<T>,
  ): Promise<T> {
    const isAlwaysLocked = sessions !== 'created' && sessions.isAlwaysLocked
    if (!this.isOn && !isAlwaysLocked) return run(this.dataSource.manager, nothing)
    if (sessions === 'created') return this.transaction(run)
    return this.transaction(async (manager, record) => {
      await sessions.lock.rows(manager, sessions.keys)
      return run(manager, record)
    })
  }

  /** Runs a change of several statements in a transaction; it locks its sessions itself. */
  async transaction<T>(
    run: (manager: EntityManager, record: RecordEvents) => Promise<T>,
    { after }: TransactionOptions = {},
  ): Promise<T> {
    if (!this.isOn) return this.dataSource.transaction((manager) => run(manager, nothing))
    const recorded: IdentifiedEvent[] = []
    const result = await this.dataSource.transaction((manager) =>
      run(manager, async (...events) => {
        if (events.length === 0) return []
        const traceContext = currentTraceparent() ?? null
        const identified = events.map((event) => ({ id: newEventId(), traceContext, ...event }))
        recorded.push(...(await this.#insert(manager, identified, after)))
        return identified.map(({ id }) => id)
      }),
    )
    if (this.config.SERVICE_LOG_EVENTS) this.#write(recorded)
    if (recorded.length > 0) for (const listener of this.#listeners) listener()
    return result
  }

  #write(recorded: readonly IdentifiedEvent[]): void {
    for (const event of recorded) {
      const { level, members } = logLineOf(event)
      this.#logger[level]({ eventId: event.id, ...members }, event.name)
    }
  }

  /** Returns the events that something uses, with the times that it stored. */
  async #insert(
    manager: Queryable,
    identified: IdentifiedEvent[],
    after: string | undefined,
  ): Promise<IdentifiedEvent[]> {
    const { SERVICE_PRO_DASHBOARD: isShown, SERVICE_LOG_EVENTS: isLogged } = this.config
    const used = identified.filter(({ name }) => isShown || isLogged || this.#consumersOf(name).length > 0)
    const ordered = await this.#inOrder(manager, used)
    if (isShown) await insertRecent(manager, ordered)
    const entries = ordered.flatMap((event) =>
      this.#consumersOf(event.name).map((consumer) => ({ ...event, consumer })),
    )
    if (entries.length > 0)
      // One statement in order, because positions decide which event is delivered first.
      await execute(manager, INSERT_ENTRIES, [
        entries.map(({ id }) => id),
        entries.map(({ consumer }) => consumer),
        entries.map(({ payload }) => sessionOf(payload) ?? CLUSTER_KEY),
        entries.map(({ name }) => name),
        entries.map(({ payload, details, consumer }) =>
          JSON.stringify(consumer === 'history' ? { ...payload, ...details } : payload),
        ),
        entries.map(({ payload }) => payload.timestamp),
        entries.map((entry) => entry.traceContext),
        after ?? null,
      ])
    return ordered
  }

  #consumersOf(name: EventDraft['name']): Consumer[] {
    const { SERVICE_CDR, SERVICE_WEBHOOK, SERVICE_WEBHOOK_EVENTS, SERVICE_PRO_SEARCH } = this.config
    const isForBackends = name !== 'networkQualityLevelChanged'
    const consumers: Consumer[] = []
    if (SERVICE_CDR && isForBackends && name !== 'transcriptReady') consumers.push('cdr')
    if (SERVICE_WEBHOOK && isForBackends && SERVICE_WEBHOOK_EVENTS.includes(name)) consumers.push('webhook')
    if (hasSummaries(this.config) && isHistoryRecord(name)) consumers.push('history')
    if (SERVICE_PRO_SEARCH) consumers.push('search')
    return consumers
  }

  /** Clocks of masters differ by a few ms: the time of the last event of a session is stored in its row. */
  async #inOrder<Event extends EventDraft>(manager: Queryable, events: readonly Event[]): Promise<Event[]> {
    // The row of a session contains the time of its first event from the start.
    const last = lastTimes(events.filter(({ name }) => name !== 'sessionCreated'))
    if (last.size === 0) return [...events]
    const before = await renewLastTimes(manager, [...last])
    return inOrder(new Map(before.map(({ session, lastAt }) => [session, lastAt])), events)
  }
}

type IdentifiedEvent = EventDraft & { id: string; traceContext: string | null }

interface LastTime {
  session: string
  lastAt: number
}

/** Stores the times of the last events of sessions. Gives those from before, of sessions that still exist. */
function renewLastTimes(manager: Queryable, times: [session: string, at: number][]): Promise<LastTime[]> {
  const [first] = times
  if (first && times.length === 1) return rows<LastTime>(manager, RENEW_LAST_TIME, first)
  const values = [times.map(([session]) => session), times.map(([, at]) => at)]
  return rows<LastTime>(manager, RENEW_LAST_TIMES, values)
}

const nothing: RecordEvents = () => Promise.resolve([])
