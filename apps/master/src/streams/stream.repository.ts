import { type MediaOptions, ServiceError, type StreamDestroyedReason, type StreamInfo } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, In } from 'typeorm'
import { type EventDraft, webrtcCreated, webrtcDestroyed } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isDataFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { columns, execute, firstRow, type Queryable, rows } from '../platform/database/sql.js'
import { placedSessions } from './placed-sessions.js'
import { type SessionIds, streamEndEvents } from './stream-events.js'
import { StreamEntity } from './stream.entity.js'

export interface NewStream {
  id: string
  sessionId: string
  connectionId: string
  createdAt: number
  mediaOptions: MediaOptions
  /** The epoch of the media that the stream is published to. */
  mediaEpoch: number
  /** Address of a camera in events. */
  rtspUri?: string
}

/** The most filters of a connection that stay without a stream: a client decides how many it leaves. */
const MOST_KEPT_FILTERS = 8

/** The select list of a StreamInfo, from a stream row `p`. */
const STREAM_INFO = `p.id AS "streamId", ${columns(StreamEntity, 'p', ['connectionId', 'createdAt', 'mediaOptions'])}`

function publicationEvents(session: SessionIds | undefined, stream: NewStream): EventDraft[] {
  const { id: streamId, connectionId, createdAt: startTime, mediaOptions, rtspUri = null } = stream
  const link = { streamId, publisherId: connectionId, connectionId, isInbound: false, startTime, mediaOptions, rtspUri }
  return session ? [webrtcCreated(session, link)] : []
}

/** The rows of published streams. */
@Injectable()
export class StreamRepository {
  readonly #insertions: GroupCommit<NewStream, true>

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {
    this.#insertions = new GroupCommit('stream', (streams) => this.#insertAll(streams), isDataFault)
  }

  /** NOT_FOUND when the publisher or the session's media has ended meanwhile, CONFLICT when the stream exists. */
  insert(stream: NewStream): Promise<true> {
    return this.#insertions.add(stream)
  }

  async #insertAll(streams: NewStream[]): Promise<(true | Error)[]> {
    const sessionIds = streams.map(({ sessionId }) => sessionId)
    const locked = { where: 's.id = ANY($1)', values: [sessionIds] }
    const insertedIds = await this.events.change(locked, async (manager, record) => {
      const inserted = new Set(await this.#insertRows(manager, streams))
      const sessions = this.events.isOn ? await this.#sessionsById(manager, sessionIds) : undefined
      const published = streams.filter(({ id }) => inserted.has(id))
      await record(...published.flatMap((stream) => publicationEvents(sessions?.get(stream.sessionId), stream)))
      return inserted
    })
    const existing = await this.existing(streams.map(({ id }) => id).filter((id) => !insertedIds.has(id)))
    return streams.map(({ id }) => {
      if (insertedIds.has(id)) return true
      if (existing.has(id)) return new ServiceError('CONFLICT', `streamId: the stream ${id} is published already`)
      return new ServiceError('NOT_FOUND', 'the connection has ended', { subject: 'connection' })
    })
  }

  /** Written by hand: one statement inserts the streams of a group commit and locks what they depend on. */
  async #insertRows(queryable: Queryable, streams: NewStream[]): Promise<string[]> {
    const inserted = await rows<{ id: string }>(
      queryable,
      `WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(id text, "sessionId" text, "connectionId" text,
              "createdAt" bigint, "mediaOptions" jsonb, "mediaEpoch" integer)),
            ${placedSessions('SELECT "sessionId" FROM r')},
            live AS (SELECT c.id, c.type, placed.media_epoch FROM connection c JOIN placed ON placed.id = c.session_id
                     WHERE c.id = ANY(ARRAY(SELECT "connectionId" FROM r)) AND c.status = 'active'
                     FOR KEY SHARE OF c),
            inserted AS (INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
              SELECT r.id, r."sessionId", r."connectionId", r."createdAt", r."mediaOptions"
              FROM r JOIN live ON live.id = r."connectionId" AND live.media_epoch = r."mediaEpoch"
              ON CONFLICT DO NOTHING RETURNING id, session_id, connection_id),
            awaited AS (UPDATE recording SET autostop_at = NULL FROM inserted
              JOIN live ON live.id = inserted.connection_id AND live.type = 'WEBRTC'
              WHERE recording.session_id = inserted.session_id AND recording.autostop_at IS NOT NULL)
       SELECT id FROM inserted`,
      [JSON.stringify(streams)],
    )
    return inserted.map(({ id }) => id)
  }

  async #sessionsById(queryable: Queryable, ids: string[]): Promise<Map<string, SessionIds>> {
    const sessions = await rows<SessionIds>(
      queryable,
      'SELECT id, unique_id AS "uniqueSessionId" FROM session WHERE id = ANY($1)',
      [ids],
    )
    return new Map(sessions.map((session) => [session.id, session]))
  }

  /** Returns those of the ids that are published. */
  async existing(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const streams = await this.dataSource
      .getRepository(StreamEntity)
      .find({ select: { id: true }, where: { id: In([...ids]) } })
    return new Set(streams.map(({ id }) => id))
  }

  async find(sessionId: string, id: string): Promise<StreamInfo | undefined> {
    const stream = await this.dataSource.getRepository(StreamEntity).findOneBy({ id, sessionId })
    if (!stream) return undefined
    const { id: streamId, connectionId, createdAt, mediaOptions } = stream
    return { streamId, connectionId, createdAt, mediaOptions }
  }

  /** The streams of the session, the oldest first. Written by hand: every join reads them. */
  present(sessionId: string): Promise<StreamInfo[]> {
    return rows<StreamInfo>(
      this.dataSource,
      `SELECT ${STREAM_INFO} FROM stream p WHERE p.session_id = $1 ORDER BY p.created_at, p.id`,
      [sessionId],
    )
  }

  /**
   * Merges `changes` into the stream's media options. Undefined when the stream does not exist or `connectionId` does
   * not publish it.
   */
  change(streamId: string, connectionId: string, changes: Partial<MediaOptions>): Promise<StreamInfo | undefined> {
    return firstRow<StreamInfo>(
      this.dataSource,
      `UPDATE stream p SET media_options = media_options || $3::jsonb WHERE id = $1 AND connection_id = $2
       RETURNING ${STREAM_INFO}`,
      [streamId, connectionId, JSON.stringify(changes)],
    )
  }

  /**
   * Deletes a stream and with it its subscriptions and its filter, also when only the filter outlived the loss of the
   * media. Undefined when it does not exist, `connectionId` does not publish it, or a camera publishes it.
   * `keepFilter`: the filter stays for the next publication of the stream.
   */
  delete(
    sessionId: string,
    streamId: string,
    reason: StreamDestroyedReason,
    { connectionId, keepFilter = false }: { connectionId?: string; keepFilter?: boolean } = {},
  ): Promise<StreamInfo | undefined> {
    return this.events.change({ where: 's.id = $1', values: [sessionId] }, async (manager, record) => {
      const end = { streamId, reason, endTime: this.clock.now() }
      const ended = this.events.isOn ? await streamEndEvents(this.events, manager, end) : []
      const stream = await firstRow<StreamInfo>(
        manager,
        `DELETE FROM stream p WHERE id = $1 AND session_id = $2 AND ($3::text IS NULL OR connection_id = $3)
           AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.id = p.connection_id AND c.type = 'IPCAM')
         RETURNING ${STREAM_INFO}`,
        [streamId, sessionId, connectionId ?? null],
      )
      // The stream first, in the order in which filters are changed.
      await execute(
        manager,
        `DELETE FROM stream_filter f WHERE stream_id = $1 AND (stream_id = $2 OR connection_id = $3)
           AND NOT ($4 AND (SELECT count(*) FROM stream_filter k WHERE k.connection_id = f.connection_id
             AND NOT EXISTS (SELECT 1 FROM stream p WHERE p.id = k.stream_id)) <= ${MOST_KEPT_FILTERS})`,
        [streamId, stream?.streamId ?? null, connectionId ?? null, keepFilter],
      )
      if (stream) await record(...ended)
      return stream
    })
  }

  /** Deletes the subscriptions and the streams of a participant, and returns the streams. */
  deleteOf(sessionId: string, connectionId: string, reason: StreamDestroyedReason): Promise<StreamInfo[]> {
    const values = [sessionId, connectionId]
    return this.events.change({ where: 's.id = $1', values: [sessionId] }, async (manager, record) => {
      if (this.events.isOn) {
        const session = await this.events.session(manager, sessionId)
        const links = await this.events.links(
          manager,
          (connection) => `p.session_id = $1 AND (p.connection_id = $2 OR ${connection} = $2)`,
          values,
        )
        if (session) await record(...links.map((link) => webrtcDestroyed(session, link, reason, this.clock.now())))
      }
      await execute(manager, 'DELETE FROM subscription WHERE connection_id = $1', [connectionId])
      return rows<StreamInfo>(
        manager,
        `DELETE FROM stream p WHERE session_id = $1 AND connection_id = $2 RETURNING ${STREAM_INFO}`,
        values,
      )
    })
  }
}
