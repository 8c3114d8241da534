import { ServiceError } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { type EventDraft, webrtcCreated, webrtcDestroyed, type WebrtcLink } from '../events/event-drafts.js'
import { EventLog, sessionLock, sessionsOfBatch } from '../events/event-log.js'
import { linksWhere } from '../events/event-queries.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../platform/database/group-commit.js'
import { type Queryable, rows } from '../platform/database/sql.js'
import { placedSessions } from './placed-sessions.js'
import { type SessionIds, sessionsOfStreams } from './session-ids.js'

export interface NewSubscription {
  connectionId: string
  streamId: string
  createdAt: number
  /** The epoch of the media that the subscription uses. */
  mediaEpoch: number
  /** Whether it replaces the tracks of an existing subscription, which keeps its time. */
  replace?: boolean
}

type SubscriptionKey = Pick<NewSubscription, 'connectionId' | 'streamId'>

/** A group commit writes the subscriptions of several calls, each with a trace of its own. */
type Traced = SubscriptionKey & { traceContext: string | null }
type Insertion = NewSubscription & Traced

/** The media of a subscription, and its session. */
interface SessionLink {
  session: SessionIds
  link: WebrtcLink
}

interface WrittenSubscription extends SubscriptionKey {
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

const LOCK_BY_STREAM = sessionLock(
  (isStream) => `s.id = ANY(ARRAY(SELECT session_id FROM stream WHERE id ${isStream}))`,
)
const readLinks = linksWhere(
  (receiver) => `p.id = ANY($2) AND p.connection_id <> ${receiver} AND ${receiver} = ANY($1)`,
)

const streamIdsOf = (keys: readonly SubscriptionKey[]): string[] => keys.map(({ streamId }) => streamId)
const keyOf = ({ connectionId, streamId }: SubscriptionKey): string => `${connectionId} ${streamId}`

/** The rows of subscriptions. */
@Injectable()
export class SubscriptionRepository {
  readonly #insertions: GroupCommit<Insertion, true>
  readonly #deletions: GroupCommit<Traced, boolean>

  constructor(
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {
    this.#insertions = new GroupCommit(
      'subscription',
      (subscriptions) => this.#insertAll(subscriptions),
      isLockingBatchFault,
    )
    this.#deletions = new GroupCommit('unsubscription', (ended) => this.#deleteAll(ended), isLockingBatchFault)
  }

  /** NOT_FOUND when the subscriber, the stream or the session's media has ended meanwhile. */
  insert(subscription: NewSubscription): Promise<true> {
    return this.#insertions.add({ ...subscription, traceContext: currentTraceparent() ?? null })
  }

  async #insertAll(subscriptions: Insertion[]): Promise<(true | Error)[]> {
    const byKey = new Map(subscriptions.map((subscription) => [keyOf(subscription), subscription]))
    const distinct = [...byKey.values()]
    const sessions = { lock: LOCK_BY_STREAM, keys: streamIdsOf(distinct) }
    const keys = await this.events.change(sessions, async (manager, record) => {
      const written = await this.#insertRows(manager, distinct)
      if (this.events.isOn) {
        const begun = written.filter(({ isNew }) => isNew).flatMap((row) => byKey.get(keyOf(row)) ?? [])
        const links = await this.#links(manager, begun)
        await record(...eventsOf(begun, links, ({ session, link }) => webrtcCreated(session, link)))
      }
      return new Set(written.map(keyOf))
    })
    return subscriptions.map((subscription) =>
      keys.has(keyOf(subscription))
        ? true
        : new ServiceError('NOT_FOUND', 'the stream has ended', { subject: 'stream' }),
    )
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
    return this.#deletions.add({ connectionId, streamId, traceContext: currentTraceparent() ?? null })
  }

  async #deleteAll(ended: Traced[]): Promise<boolean[]> {
    const sessions = sessionsOfBatch(LOCK_BY_STREAM, streamIdsOf(ended))
    const deleted = await this.events.change(sessions, async (manager, record) => {
      const links = this.events.isOn ? await this.#links(manager, ended) : new Map<string, SessionLink>()
      const keys = new Set((await deleteRows(manager, ended)).map(keyOf))
      // The first of two calls for one subscription ends it.
      const all = firstOfEach(ended, keyOf).filter((one) => keys.has(keyOf(one)))
      const now = this.clock.now()
      await record(...eventsOf(all, links, ({ session, link }) => webrtcDestroyed(session, link, 'unsubscribe', now)))
      return new Set(all)
    })
    return ended.map((one) => deleted.has(one))
  }

  /** The media that these subscribers receive, by `keyOf`. */
  async #links(manager: Queryable, keys: readonly SubscriptionKey[]): Promise<Map<string, SessionLink>> {
    if (keys.length === 0) return new Map()
    const streamIds = streamIdsOf(keys)
    const sessions = await sessionsOfStreams(manager, streamIds)
    const receivers = keys.map(({ connectionId }) => connectionId)
    const links = await readLinks(manager, receivers, streamIds)
    return new Map(
      links.flatMap((link) => {
        const session = sessions.get(link.streamId)
        return session ? [[keyOf(link), { session, link }] as const] : []
      }),
    )
  }
}

const deleteRows = (manager: Queryable, ended: readonly SubscriptionKey[]): Promise<SubscriptionKey[]> =>
  rows<SubscriptionKey>(
    manager,
    `DELETE FROM subscription u USING unnest($1::text[], $2::text[]) AS r(connection_id, stream_id)
     WHERE u.connection_id = r.connection_id AND u.stream_id = r.stream_id
     RETURNING u.connection_id AS "connectionId", u.stream_id AS "streamId"`,
    [ended.map(({ connectionId }) => connectionId), streamIdsOf(ended)],
  )

/** The events of subscriptions that begin or end, in their order and with their traces. */
const eventsOf = (
  all: readonly Traced[],
  links: ReadonlyMap<string, SessionLink>,
  draft: (link: SessionLink) => EventDraft,
): EventDraft[] =>
  all.flatMap((one) => {
    const link = links.get(keyOf(one))
    return link ? [{ ...draft(link), traceContext: one.traceContext }] : []
  })
