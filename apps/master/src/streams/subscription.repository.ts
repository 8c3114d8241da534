import { ServiceError } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { type EventDraft, webrtcCreated } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isDataFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import { placedSessions } from './placed-sessions.js'
import { sessionOfStream, streamEndEvents } from './stream-events.js'

export interface NewSubscription {
  connectionId: string
  streamId: string
  createdAt: number
  /** The epoch of the media that the subscription uses. */
  mediaEpoch: number
  /** Whether it replaces the tracks of an existing subscription, which keeps its time. */
  replace?: boolean
}

/** A group commit writes the subscriptions of several calls, each with a trace of its own. */
type Insertion = NewSubscription & { traceContext: string | null }

interface WrittenSubscription extends Pick<NewSubscription, 'connectionId' | 'streamId'> {
  /** False: the row existed, and its time has been replaced. */
  isNew: boolean
}

const INSERT_SUBSCRIPTIONS = `
  WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb)
             AS r("connectionId" text, "streamId" text, "createdAt" bigint, "mediaEpoch" integer, replace boolean)),
       ${placedSessions('SELECT p.session_id FROM stream p JOIN r ON r."streamId" = p.id')},
       live AS (SELECT c.id, placed.media_epoch FROM connection c JOIN placed ON placed.id = c.session_id
                WHERE c.id = ANY(ARRAY(SELECT "connectionId" FROM r)) AND c.status IN ('active', 'hidden')
                FOR KEY SHARE OF c),
       existing AS (SELECT id FROM stream WHERE id = ANY(ARRAY(SELECT "streamId" FROM r)) FOR KEY SHARE)
  INSERT INTO subscription (connection_id, stream_id, created_at)
  SELECT r."connectionId", r."streamId", COALESCE(former.created_at, r."createdAt") FROM r
  LEFT JOIN subscription former
    ON r.replace AND former.connection_id = r."connectionId" AND former.stream_id = r."streamId"
  JOIN live ON live.id = r."connectionId" AND live.media_epoch = r."mediaEpoch"
  JOIN existing ON existing.id = r."streamId"
  ORDER BY r."connectionId", r."streamId"
  ON CONFLICT (connection_id, stream_id) DO UPDATE SET created_at = excluded.created_at
  RETURNING connection_id AS "connectionId", stream_id AS "streamId", xmax = 0 AS "isNew"`

const keyOf = ({ connectionId, streamId }: Pick<NewSubscription, 'connectionId' | 'streamId'>): string =>
  `${connectionId} ${streamId}`

/** The rows of subscriptions. */
@Injectable()
export class SubscriptionRepository {
  readonly #insertions: GroupCommit<Insertion, true>

  constructor(
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {
    this.#insertions = new GroupCommit('subscription', (subscriptions) => this.#insertAll(subscriptions), isDataFault)
  }

  /** NOT_FOUND when the subscriber, the stream or the session's media has ended meanwhile. */
  insert(subscription: NewSubscription): Promise<true> {
    return this.#insertions.add({ ...subscription, traceContext: currentTraceparent() ?? null })
  }

  async #insertAll(subscriptions: Insertion[]): Promise<(true | Error)[]> {
    const byKey = new Map(subscriptions.map((subscription) => [keyOf(subscription), subscription]))
    const distinct = [...byKey.values()]
    const sessions = {
      where: 's.id IN (SELECT session_id FROM stream WHERE id = ANY($1))',
      values: [distinct.map(({ streamId }) => streamId)],
    }
    const keys = await this.events.change(sessions, async (manager, record) => {
      const written = await this.#insertRows(manager, distinct)
      if (this.events.isOn) {
        for (const subscription of written.filter(({ isNew }) => isNew)) {
          const { traceContext = null } = byKey.get(keyOf(subscription)) ?? {}
          const events = await this.#startEvents(manager, subscription)
          await record(...events.map((event) => ({ ...event, traceContext })))
        }
      }
      return new Set(written.map(keyOf))
    })
    return subscriptions.map((subscription) =>
      keys.has(keyOf(subscription))
        ? true
        : new ServiceError('NOT_FOUND', 'the stream has ended', { subject: 'stream' }),
    )
  }

  async #startEvents(queryable: Queryable, { connectionId, streamId }: WrittenSubscription): Promise<EventDraft[]> {
    const session = await sessionOfStream(queryable, streamId)
    const links = await this.events.links(
      queryable,
      (connection) => `p.id = $2 AND p.connection_id <> $1 AND ${connection} = $1`,
      [connectionId, streamId],
    )
    return session ? links.map((link) => webrtcCreated(session, link)) : []
  }

  /**
   * Written by hand: one statement inserts the subscriptions of a group commit and locks what they depend on. It inserts
   * in one order, so that two writers of the same subscriptions never deadlock.
   */
  #insertRows(queryable: Queryable, subscriptions: NewSubscription[]): Promise<WrittenSubscription[]> {
    return rows<WrittenSubscription>(queryable, INSERT_SUBSCRIPTIONS, [JSON.stringify(subscriptions)])
  }

  /** Returns whether there was such a subscription. */
  delete(connectionId: string, streamId: string): Promise<boolean> {
    const session = { where: 's.id = (SELECT session_id FROM stream WHERE id = $1)', values: [streamId] }
    return this.events.change(session, async (manager, record) => {
      const end = { streamId, reason: 'unsubscribe', endTime: this.clock.now(), subscriberId: connectionId } as const
      const ended = this.events.isOn ? await streamEndEvents(this.events, manager, end) : []
      const deleted = await execute(manager, 'DELETE FROM subscription WHERE connection_id = $1 AND stream_id = $2', [
        connectionId,
        streamId,
      ])
      if (deleted > 0) await record(...ended)
      return deleted > 0
    })
  }
}
