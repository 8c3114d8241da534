import { type NotificationParams, SIGNALLING_LIMITS } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { Job } from '../platform/jobs/job.js'
import type { RecentSignalEntity } from './recent-signal.entity.js'
import { execute, firstRow, type Queryable, rows } from '../platform/database/sql.js'

export interface SentSignal {
  roomId: string
  /** Empty: all participants. */
  to: readonly string[]
  from: string | null
  type: string
  data: string
}

/** The signals that a resuming participant has received, as far as is known. */
export interface SignalPosition {
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

type SignalRow = Pick<RecentSignalEntity, 'id' | 'type' | 'data' | 'sender'>

const { count: MOST_SIGNALS, bytes: MOST_BYTES, ms: KEPT_MS } = SIGNALLING_LIMITS.missedSignals

/**
 * The signals of the last seconds of each session, in the database: a participant that resumes, at any master, is sent
 * those that it did not receive. Bounded per session in age, number and bytes; the oldest go first.
 */
@Injectable()
export class RecentSignals {
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

  /**
   * The signals to send again; none when nothing is known about the received ones. Written by hand: windows bound the
   * number and the bytes.
   */
  async missed(
    participant: { roomId: string; connectionId: string; activeAt: number },
    { received, lastSent }: SignalPosition,
  ): Promise<MissedSignals> {
    const after = received ? floorOf(received) : lastSent
    if (after === null) return { signals: [], after: await this.#newestId(participant.roomId) }
    const { roomId, connectionId, activeAt } = participant
    const missed = await rows<SignalRow>(
      this.dataSource,
      `SELECT id, type, data, sender FROM (
         SELECT *, row_number() OVER w AS nth, sum(bytes) OVER w AS total FROM recent_signal
         WHERE session_key = $1 AND id > $3 AND id <> ALL($4) AND (recipients IS NULL OR $2 = ANY(recipients))
           AND sent_at > to_timestamp($5::float8 / 1000) AND sent_at > clock_timestamp() - $6 * interval '1 millisecond'
         WINDOW w AS (ORDER BY id DESC)
       ) r WHERE nth <= $7 AND total <= $8 ORDER BY id`,
      [roomId, connectionId, after, received ?? [], activeAt, KEPT_MS, MOST_SIGNALS, MOST_BYTES],
    )
    const signals = missed.map(({ id, type, data, sender }) => ({
      id,
      params: { type, data, ...(sender !== null && { from: sender }) },
    }))
    return { signals, after: Math.max(after, ...(received ?? [])) }
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

  async #newestId(roomId: string): Promise<number> {
    const row = await firstRow<{ id: number }>(
      this.dataSource,
      'SELECT coalesce(max(id), 0) AS id FROM recent_signal WHERE session_key = $1',
      [roomId],
    )
    return row?.id ?? 0
  }
}

/** The client reports only its last signals: it has received all older ones as well. */
const floorOf = (received: readonly number[]): number => (received.length < MOST_SIGNALS ? 0 : Math.min(...received))
