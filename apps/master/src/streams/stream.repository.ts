import {
  type MediaOptions,
  ServiceError,
  type StreamDestroyedReason,
  type StreamInfo,
  type WebrtcEndReason,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isDataFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { updated } from '../platform/database/updated.js'
import { type EventDraft, type EventSession, webrtcCreated, webrtcDestroyed } from '../events/event-drafts.js'
import { EventLog, type Manager } from '../events/event-log.js'

export interface NewStream {
  id: string
  sessionId: string
  connectionId: string
  createdAt: number
  mediaOptions: MediaOptions
  /** Of the media that it was published to. */
  mediaEpoch: number
}

export interface NewSubscription {
  connectionId: string
  streamId: string
  createdAt: number
  mediaEpoch: number
}

type SessionIds = Pick<EventSession, 'id' | 'uniqueId'>
type SessionsById = ReadonlyMap<string, SessionIds>

function published(sessions: SessionsById, stream: NewStream): EventDraft[] {
  const { id: streamId, sessionId, connectionId, createdAt: startTime, mediaOptions } = stream
  const session = sessions.get(sessionId)
  const link = { streamId, publisherId: connectionId, connectionId, isInbound: false, startTime, mediaOptions }
  return session ? [webrtcCreated(session, link)] : []
}

/** Sessions that have media, locked against the loss of it; before their connections, as all that deletes does. */
const PLACED = (ids: string): string => `placed AS MATERIALIZED (
  SELECT id, media_epoch FROM session WHERE id = ANY(ARRAY(${ids})) AND media_node_id IS NOT NULL FOR KEY SHARE)`

const STREAM_INFO = `id AS "streamId", connection_id AS "connectionId", created_at AS "createdAt",
  media_options AS "mediaOptions"`

@Injectable()
export class StreamRepository {
  private readonly publications: GroupCommit<NewStream, true>
  private readonly subscriptions: GroupCommit<NewSubscription, true>

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {
    this.publications = new GroupCommit((streams) => this.insertAll(streams), isDataFault)
    this.subscriptions = new GroupCommit((subscriptions) => this.subscribeAll(subscriptions), isDataFault)
  }

  /** NOT_FOUND when the publisher or the session's media has gone meanwhile, CONFLICT when there is such a stream. */
  insert(stream: NewStream): Promise<true> {
    return this.publications.add(stream)
  }

  /** NOT_FOUND when the subscriber, the stream or the session's media has gone meanwhile. */
  subscribe(subscription: NewSubscription): Promise<true> {
    return this.subscriptions.add(subscription)
  }

  private async insertAll(streams: NewStream[]): Promise<(true | Error)[]> {
    const sessions = { where: 's.id = ANY($1)', values: [streams.map(({ sessionId }) => sessionId)] }
    const ids = await this.events.change(sessions, async (manager, record) => {
      const inserted = new Set(await this.insertRows(manager, streams))
      const keys = this.events.isOn ? await this.sessionsById(manager, sessions.values[0] ?? []) : new Map()
      await record(...streams.flatMap((stream) => (inserted.has(stream.id) ? published(keys, stream) : [])))
      return inserted
    })
    const missing = streams.map(({ id }) => id).filter((id) => !ids.has(id))
    const taken = await this.existing(missing)
    return streams.map(({ id }) => {
      if (ids.has(id)) return true
      if (taken.has(id)) return new ServiceError('CONFLICT', `streamId: the stream ${id} is published already`)
      return new ServiceError('NOT_FOUND', 'the connection has ended', { subject: 'connection' })
    })
  }

  /** Which of these streams there are. */
  async existing(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await this.dataSource.query<{ id: string }[]>('SELECT id FROM stream WHERE id = ANY($1)', [ids])
    return new Set(rows.map(({ id }) => id))
  }

  private async sessionsById(manager: Manager, ids: string[]): Promise<SessionsById> {
    const rows = await manager.query<Pick<EventSession, 'id' | 'uniqueId'>[]>(
      'SELECT id, unique_id AS "uniqueId" FROM session WHERE id = ANY($1)',
      [ids],
    )
    return new Map(rows.map((session) => [session.id, session]))
  }

  private async insertRows(manager: Manager, streams: NewStream[]): Promise<string[]> {
    const inserted = await manager.query<{ id: string }[]>(
      `WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(id text, "sessionId" text, "connectionId" text,
              "createdAt" bigint, "mediaOptions" jsonb, "mediaEpoch" integer)),
            ${PLACED('SELECT "sessionId" FROM r')},
            live AS (SELECT c.id, placed.media_epoch FROM connection c JOIN placed ON placed.id = c.session_id
                     WHERE c.id = ANY(ARRAY(SELECT "connectionId" FROM r)) AND c.status = 'active'
                     FOR KEY SHARE OF c),
            inserted AS (INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
              SELECT r.id, r."sessionId", r."connectionId", r."createdAt", r."mediaOptions"
              FROM r JOIN live ON live.id = r."connectionId" AND live.media_epoch = r."mediaEpoch"
              ON CONFLICT DO NOTHING RETURNING id, session_id),
            awaited AS (UPDATE recording SET autostop_at = NULL FROM inserted
              WHERE recording.session_id = inserted.session_id AND recording.autostop_at IS NOT NULL)
       SELECT id FROM inserted`,
      [JSON.stringify(streams)],
    )
    return inserted.map(({ id }) => id)
  }

  private async subscribeAll(subscriptions: NewSubscription[]): Promise<(true | Error)[]> {
    const key = ({ connectionId, streamId }: Pick<NewSubscription, 'connectionId' | 'streamId'>): string =>
      `${connectionId} ${streamId}`
    const wanted = [...new Map(subscriptions.map((subscription) => [key(subscription), subscription])).values()]
    const sessions = {
      where: 's.id IN (SELECT session_id FROM stream WHERE id = ANY($1))',
      values: [wanted.map(({ streamId }) => streamId)],
    }
    const keys = await this.events.change(sessions, async (manager, record) => {
      const inserted = await this.subscribeRows(manager, wanted)
      if (this.events.isOn) {
        for (const { connectionId, streamId } of inserted.filter(({ isNew }) => isNew)) {
          await record(...(await this.received(manager, connectionId, streamId)))
        }
      }
      return new Set(inserted.map(key))
    })
    return subscriptions.map((subscription) =>
      keys.has(key(subscription)) ? true : new ServiceError('NOT_FOUND', 'the stream has ended', { subject: 'stream' }),
    )
  }

  private async received(manager: Manager, connectionId: string, streamId: string): Promise<EventDraft[]> {
    const session = await this.sessionOf(manager, streamId)
    const links = await this.events.links(manager, (who) => `p.id = $2 AND p.connection_id <> $1 AND ${who} = $1`, [
      connectionId,
      streamId,
    ])
    return session ? links.map((link) => webrtcCreated(session, link)) : []
  }

  private async sessionOf(manager: Manager, streamId: string): Promise<SessionIds | undefined> {
    const [session] = await manager.query<SessionIds[]>(
      `SELECT s.id, s.unique_id AS "uniqueId" FROM session s JOIN stream p ON p.session_id = s.id WHERE p.id = $1`,
      [streamId],
    )
    return session
  }

  /** In one order, so that two writers of the same subscriptions never wait for one another. */
  private subscribeRows(
    manager: Manager,
    subscriptions: NewSubscription[],
  ): Promise<{ connectionId: string; streamId: string; isNew: boolean }[]> {
    return manager.query(
      `WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb)
                  AS r("connectionId" text, "streamId" text, "createdAt" bigint, "mediaEpoch" integer)),
            ${PLACED('SELECT p.session_id FROM stream p JOIN r ON r."streamId" = p.id')},
            live AS (SELECT c.id, placed.media_epoch FROM connection c JOIN placed ON placed.id = c.session_id
                     WHERE c.id = ANY(ARRAY(SELECT "connectionId" FROM r)) AND c.status IN ('active', 'hidden')
                     FOR KEY SHARE OF c),
            there AS (SELECT id FROM stream WHERE id = ANY(ARRAY(SELECT "streamId" FROM r)) FOR KEY SHARE)
       INSERT INTO subscription (connection_id, stream_id, created_at)
       SELECT r."connectionId", r."streamId", r."createdAt" FROM r
       JOIN live ON live.id = r."connectionId" AND live.media_epoch = r."mediaEpoch"
       JOIN there ON there.id = r."streamId"
       ORDER BY r."connectionId", r."streamId"
       ON CONFLICT (connection_id, stream_id) DO UPDATE SET created_at = excluded.created_at
       RETURNING connection_id AS "connectionId", stream_id AS "streamId", xmax = 0 AS "isNew"`,
      [JSON.stringify(subscriptions)],
    )
  }

  async find(sessionId: string, streamId: string): Promise<StreamInfo | undefined> {
    const [stream] = await this.dataSource.query<StreamInfo[]>(
      `SELECT ${STREAM_INFO} FROM stream WHERE id = $1 AND session_id = $2`,
      [streamId, sessionId],
    )
    return stream
  }

  /** Deletes a stream, and with it its subscriptions; undefined when it is not there or not `connectionId`'s. */
  delete(
    sessionId: string,
    streamId: string,
    reason: StreamDestroyedReason,
    connectionId?: string,
  ): Promise<StreamInfo | undefined> {
    return this.events.change({ where: 's.id = $1', values: [sessionId] }, async (manager, record) => {
      const ended = this.events.isOn ? await this.ended(manager, streamId, reason) : []
      const stream = await this.deleteRow(manager, sessionId, streamId, connectionId)
      if (stream) await record(...ended)
      return stream
    })
  }

  /** Deletes what a participant publishes, and all it receives; the former is given back. */
  deleteOf(sessionId: string, connectionId: string, reason: StreamDestroyedReason): Promise<StreamInfo[]> {
    const values = [sessionId, connectionId]
    return this.events.change({ where: 's.id = $1', values: [sessionId] }, async (manager, record) => {
      if (this.events.isOn) {
        const session = await this.events.session(manager, sessionId)
        const ofWhom = (who: string): string => `p.session_id = $1 AND (p.connection_id = $2 OR ${who} = $2)`
        const links = await this.events.links(manager, ofWhom, values)
        if (session) await record(...links.map((link) => webrtcDestroyed(session, link, reason, this.clock.now())))
      }
      await manager.query('DELETE FROM subscription WHERE connection_id = $1', [connectionId])
      return updated<StreamInfo>(
        manager,
        `DELETE FROM stream WHERE session_id = $1 AND connection_id = $2 RETURNING ${STREAM_INFO}`,
        values,
      )
    })
  }

  /** All media of a stream: who receives it, then who publishes it. */
  private async ended(
    manager: Manager,
    streamId: string,
    reason: WebrtcEndReason,
    who?: string,
  ): Promise<EventDraft[]> {
    const session = await this.sessionOf(manager, streamId)
    const links = await this.events.links(
      manager,
      (column) => `p.id = $1 AND ($2::text IS NULL OR (${column} = $2 AND p.connection_id <> $2))`,
      [streamId, who ?? null],
    )
    return session ? links.map((link) => webrtcDestroyed(session, link, reason, this.clock.now())) : []
  }

  private async deleteRow(
    manager: EntityManager,
    sessionId: string,
    streamId: string,
    connectionId?: string,
  ): Promise<StreamInfo | undefined> {
    const [stream] = await updated<StreamInfo>(
      manager,
      `DELETE FROM stream WHERE id = $1 AND session_id = $2 AND ($3::text IS NULL OR connection_id = $3)
       RETURNING ${STREAM_INFO}`,
      [streamId, sessionId, connectionId ?? null],
    )
    return stream
  }

  /** Merges `changes` into the stream's media options; undefined when it is not there or not `connectionId`'s. */
  async change(
    streamId: string,
    connectionId: string,
    changes: Partial<MediaOptions>,
  ): Promise<StreamInfo | undefined> {
    const [stream] = await updated<StreamInfo>(
      this.dataSource.manager,
      `UPDATE stream SET media_options = media_options || $3::jsonb WHERE id = $1 AND connection_id = $2
       RETURNING ${STREAM_INFO}`,
      [streamId, connectionId, JSON.stringify(changes)],
    )
    return stream
  }

  unsubscribe(connectionId: string, streamId: string): Promise<boolean> {
    const session = { where: 's.id = (SELECT session_id FROM stream WHERE id = $1)', values: [streamId] }
    return this.events.change(session, async (manager, record) => {
      const ended = this.events.isOn ? await this.ended(manager, streamId, 'unsubscribe', connectionId) : []
      const rows = await updated<unknown>(
        manager,
        'DELETE FROM subscription WHERE connection_id = $1 AND stream_id = $2 RETURNING 1',
        [connectionId, streamId],
      )
      if (rows.length > 0) await record(...ended)
      return rows.length > 0
    })
  }

  /** What is published in the session, the oldest first. */
  present(sessionId: string): Promise<StreamInfo[]> {
    return this.dataSource.query<StreamInfo[]>(
      `SELECT ${STREAM_INFO} FROM stream WHERE session_id = $1 ORDER BY created_at, id`,
      [sessionId],
    )
  }
}
