import { type NotificationParams, SIGNALLING_LIMITS } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { GroupRead } from '../platform/database/group-read.js'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import { Job } from '../platform/jobs/job.js'
import type { RecentSignalEntity } from './recent-signal.entity.js'

export interface SentSignal {
  roomId: string
  /** Empty: all participants. */
  to: readonly string[]
  from: string | null
  type: string
  data: string
}

interface Recipient {
  roomId: string
  connectionId: string
  /** Earlier signals are not for it, UTC ms. */
  activeAt: number
}

/** The signals that a resuming participant has received, as far as is known. */
interface SignalPosition {
  /** By the client: the ids of the last signals it received. */
  received: readonly number[] | undefined
  /** By the master that held its socket, when it noticed the loss: the newest id that it sent. */
  lastSent: number | null
}

export interface MissedSignals {
  /** In the order in which they were sent. */
  signals: { id: number; params: NotificationParams<'signal'> }[]
  /** The newest id that does not have to be sent any more. */
  after: number
}

/** A participant misses the signals after the id `after` that are not among the `received` ones. */
interface SignalGap extends Recipient {
  after: number
  received: readonly number[]
}

type SignalRow = Pick<RecentSignalEntity, 'id' | 'type' | 'data' | 'sender'>

const { count: MOST_SIGNALS, bytes: MOST_BYTES, ms: KEPT_MS } = SIGNALLING_LIMITS.missedSignals
/** Each participant may have missed as many bytes as a session keeps. */
const GAPS_OF_A_READ = 16

/**
 * The signals of the last seconds of each session, in the database: a participant that resumes, at any master, is sent
 * those that it did not receive. Bounded per session in age, number and bytes; the oldest go first.
 */
@Injectable()
export class RecentSignals {
  readonly #missed = new GroupRead<SignalGap, SignalRow[]>((gaps) => this.#missedBy(gaps), { keys: GAPS_OF_A_READ })
  readonly #newest = new GroupRead<string, number>((roomIds) => this.#newestIn(roomIds))

  constructor(private readonly dataSource: DataSource) {}

  /** Returns the ids of the signals; ids of one session ascend in the order of their insertion. */
  async insert(queryable: Queryable, signals: readonly SentSignal[]): Promise<number[]> {
    const inserted = await rows<{ id: number }>(
      queryable,
      `INSERT INTO recent_signal (session_key, recipients, sender, type, data, bytes)
       SELECT r.session_key, CASE WHEN r.recipients IS NOT NULL
                THEN ARRAY(SELECT jsonb_array_elements_text(r.recipients::jsonb)) END, r.sender, r.type, r.data, r.bytes
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[])
         WITH ORDINALITY AS r(session_key, recipients, sender, type, data, bytes, nth)
       ORDER BY r.nth RETURNING id`,
      [
        signals.map(({ roomId }) => roomId),
        signals.map(({ to }) => (to.length > 0 ? JSON.stringify(to) : null)),
        signals.map(({ from }) => from),
        signals.map(({ type }) => type),
        signals.map(({ data }) => data),
        signals.map(({ data }) => Buffer.byteLength(data)),
      ],
    )
    return inserted.map(({ id }) => id)
  }

  /** The signals to send again; none when nothing is known about the received ones. */
  async missed(recipient: Recipient, { received, lastSent }: SignalPosition): Promise<MissedSignals> {
    const after = received ? floorOf(received) : lastSent
    if (after === null) return { signals: [], after: (await this.#newest.get(recipient.roomId)) ?? 0 }
    const { roomId, connectionId, activeAt } = recipient
    const missed = await this.#missed.get({ roomId, connectionId, activeAt, after, received: received ?? [] })
    const signals = (missed ?? []).map(({ id, type, data, sender }) => ({
      id,
      params: { type, data, ...(sender !== null && { from: sender }) },
    }))
    return { signals, after: Math.max(after, ...(received ?? [])) }
  }

  /** Written by hand: windows bound the number and the bytes for each participant. */
  async #missedBy(gaps: readonly SignalGap[]): Promise<Map<SignalGap, SignalRow[]>> {
    const missed = await rows<SignalRow & { index: number }>(
      this.dataSource,
      `SELECT g.nth::integer - 1 AS index, m.id, m.type, m.data, m.sender
       FROM unnest($1::text[], $2::text[], $3::float8[], $4::bigint[], $5::text[])
              WITH ORDINALITY AS g(session_key, connection_id, active_at, after, received, nth)
       CROSS JOIN LATERAL (
         SELECT id, type, data, sender FROM (
           SELECT *, row_number() OVER w AS newer, sum(bytes) OVER w AS total FROM recent_signal
           WHERE session_key = g.session_key AND id > g.after AND id <> ALL(g.received::bigint[])
             AND (recipients IS NULL OR g.connection_id = ANY(recipients))
             AND sent_at > to_timestamp(g.active_at / 1000)
             AND sent_at > clock_timestamp() - $6 * interval '1 millisecond'
           WINDOW w AS (ORDER BY id DESC)
         ) r WHERE newer <= $7 AND total <= $8) m
       ORDER BY g.nth, m.id`,
      [
        gaps.map(({ roomId }) => roomId),
        gaps.map(({ connectionId }) => connectionId),
        gaps.map(({ activeAt }) => activeAt),
        gaps.map(({ after }) => after),
        gaps.map(({ received }) => `{${received.join(',')}}`),
        KEPT_MS,
        MOST_SIGNALS,
        MOST_BYTES,
      ],
    )
    const byGap = Map.groupBy(missed, ({ index }) => index)
    return new Map(gaps.map((gap, index) => [gap, byGap.get(index) ?? []]))
  }

  async #newestIn(roomIds: readonly string[]): Promise<Map<string, number>> {
    const newest = await rows<{ roomId: string; id: number }>(
      this.dataSource,
      'SELECT session_key AS "roomId", max(id) AS id FROM recent_signal WHERE session_key = ANY($1) GROUP BY session_key',
      [roomIds],
    )
    return new Map(newest.map(({ roomId, id }) => [roomId, id]))
  }

  /** Deletes the signals beyond the bounds, of all sessions in one statement. */
  @Job({ name: 'recent signals', scope: 'leader', everyMs: 0, due: 'SELECT 1 FROM recent_signal' })
  async trim(): Promise<void> {
    await execute(
      this.dataSource,
      `DELETE FROM recent_signal WHERE id IN (
         SELECT id FROM (
           SELECT id, sent_at, row_number() OVER w AS nth, sum(bytes) OVER w AS total FROM recent_signal
           WINDOW w AS (PARTITION BY session_key ORDER BY id DESC)
         ) r WHERE sent_at < clock_timestamp() - $1 * interval '1 millisecond' OR nth > $2 OR total > $3)`,
      [KEPT_MS, MOST_SIGNALS, MOST_BYTES],
    )
  }
}

/** The client reports only its last signals: it has received all older ones as well. */
const floorOf = (received: readonly number[]): number => (received.length < MOST_SIGNALS ? 0 : Math.min(...received))
