import { newEventId } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import type { EventDraft, EventParticipant, EventSession, WebrtcLink } from './event-drafts.js'
import { inOrder, lastTimes, sessionOf } from './event-order.js'
import type { OutboxEntity } from './outbox.entity.js'

/** Stands for the session in events of the cluster, which so keep their order among themselves. */
const CLUSTER_KEY = 'cluster'

export type Manager = Pick<EntityManager, 'query'>

/** Records events with the change they tell of and gives their ids; nothing when events are off. */
export type Record = (...events: readonly EventDraft[]) => Promise<string[]>

export interface TransactionOptions {
  /** Id of an event, of the cluster say, that a webhook should have had before these. */
  after?: string | undefined
}

/** Which sessions a change is about: a condition on the session row `s`. */
export interface LockedSessions {
  where: string
  values: unknown[]
}

const LINK = `p.id AS "streamId", p.connection_id AS "publisherId", p.media_options AS "mediaOptions"`
const PARTICIPANT = `c.id AS "connectionId", c.active_at AS "activeAt", c.location, c.ip, c.platform,
  c.client_data AS "clientData", c.server_data AS "serverData"`

/**
 * Events are rows of the outbox, written in the transaction of the change they tell of, under the session's row lock:
 * what was decided first has the lower position. With neither call records nor webhook nothing is read or written.
 */
@Injectable()
export class EventLog {
  private readonly listeners: (() => void)[] = []

  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  get isOn(): boolean {
    return this.config.SERVICE_CDR || this.config.SERVICE_WEBHOOK
  }

  /** Called after a commit that recorded something here. */
  onRecorded(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** A change of one statement: with events on in a transaction that holds the sessions' locks, else plain. */
  change<T>(sessions: LockedSessions, run: (manager: EntityManager, record: Record) => Promise<T>): Promise<T> {
    if (!this.isOn) return run(this.dataSource.manager, nothing)
    return this.transaction(async (manager, record) => {
      // In the order of ids, so that two changes of several sessions never wait for one another.
      await manager.query(
        `SELECT 1 FROM session s WHERE ${sessions.where} ORDER BY s.id FOR NO KEY UPDATE`,
        sessions.values,
      )
      return run(manager, record)
    })
  }

  /** A change of several statements, which locks its sessions itself. */
  async transaction<T>(
    run: (manager: EntityManager, record: Record) => Promise<T>,
    { after }: TransactionOptions = {},
  ): Promise<T> {
    if (!this.isOn) return this.dataSource.transaction((manager) => run(manager, nothing))
    let hasRecorded = false
    const result = await this.dataSource.transaction((manager) =>
      run(manager, async (...events) => {
        if (events.length === 0) return []
        hasRecorded = true
        return this.insert(manager, events, after)
      }),
    )
    if (hasRecorded) for (const listener of this.listeners) listener()
    return result
  }

  /** The session's name in events, by its id. */
  async session(manager: Manager, id: string): Promise<EventSession | undefined> {
    const [session] = await manager.query<EventSession[]>(
      `SELECT id, unique_id AS "uniqueId", created_at AS "createdAt" FROM session WHERE id = $1`,
      [id],
    )
    return session
  }

  /** Participants by a condition on the connection row `c`, in the order they joined. */
  participants(manager: Manager, where: string, values: unknown[]): Promise<EventParticipant[]> {
    return manager.query<EventParticipant[]>(
      `SELECT ${PARTICIPANT} FROM connection c WHERE c.status = 'active' AND ${where} ORDER BY c.active_at, c.id`,
      values,
    )
  }

  /** What recorders receive is nobody's business. Media by a condition on the stream row `p` and the receiver's or publisher's id `$who`; receivers first. */
  links(manager: Manager, where: (who: string) => string, values: unknown[]): Promise<WebrtcLink[]> {
    return manager.query<WebrtcLink[]>(
      `SELECT * FROM (
         SELECT ${LINK}, u.connection_id AS "connectionId", true AS "isInbound", u.created_at AS "startTime"
         FROM subscription u JOIN stream p ON p.id = u.stream_id
           JOIN connection k ON k.id = u.connection_id AND k.status = 'active'
         WHERE ${where('u.connection_id')}
         UNION ALL
         SELECT ${LINK}, p.connection_id, false, p.created_at FROM stream p WHERE ${where('p.connection_id')}
       ) link ORDER BY "isInbound" DESC, "startTime", "streamId", "connectionId"`,
      values,
    )
  }

  private async insert(manager: Manager, events: readonly EventDraft[], after: string | undefined): Promise<string[]> {
    const identified = events.map((event) => ({ id: newEventId(), ...event }))
    const wanted = identified.filter(({ name }) => this.consumersOf(name).length > 0)
    const rows = (await this.inOrder(manager, wanted)).flatMap((event) =>
      this.consumersOf(event.name).map((consumer) => ({ ...event, consumer })),
    )
    if (rows.length > 0)
      await manager.query(
        `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, after_id)
         SELECT r.id, r.consumer, r.session_key, r.name, r.payload, r.created_at, $7
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) WITH ORDINALITY
           AS r(id, consumer, session_key, name, payload, created_at, nth) ORDER BY r.nth`,
        [
          rows.map(({ id }) => id),
          rows.map(({ consumer }) => consumer),
          rows.map(({ payload }) => sessionOf(payload) ?? CLUSTER_KEY),
          rows.map(({ name }) => name),
          rows.map(({ payload }) => JSON.stringify(payload)),
          rows.map(({ payload }) => payload.timestamp),
          after ?? null,
        ],
      )
    return identified.map(({ id }) => id)
  }

  private consumersOf(name: EventDraft['name']): OutboxEntity['consumer'][] {
    const { SERVICE_CDR, SERVICE_WEBHOOK, SERVICE_WEBHOOK_EVENTS } = this.config
    return [
      ...(SERVICE_CDR ? (['cdr'] as const) : []),
      ...(SERVICE_WEBHOOK && SERVICE_WEBHOOK_EVENTS.includes(name) ? (['webhook'] as const) : []),
    ]
  }

  /** Masters know the time only to a few ms: what each session was told last is kept in its row. */
  private async inOrder<Event extends EventDraft>(manager: Manager, events: readonly Event[]): Promise<Event[]> {
    const last = lastTimes(events)
    if (last.size === 0) return [...events]
    // Returns what was there before; nothing for a session that is gone.
    const [before] = await manager.query<[{ session: string; toldAt: number }[], number]>(
      `UPDATE session s SET told_at = greatest(b.told_at, r.at)
       FROM unnest($1::text[], $2::bigint[]) AS r(unique_id, at) JOIN session b USING (unique_id)
       WHERE s.id = b.id RETURNING b.unique_id AS session, b.told_at AS "toldAt"`,
      [[...last.keys()], [...last.values()]],
    )
    return inOrder(new Map(before.map(({ session, toldAt }) => [session, toldAt])), events)
  }
}

const nothing: Record = () => Promise.resolve([])
