import {
  type MediaOptions,
  publisherOf,
  ServiceError,
  type StreamDestroyedReason,
  type StreamInfo,
} from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { DataSource, In } from 'typeorm'
import { type EventDraft, webrtcCreated, webrtcDestroyed } from '../events/event-drafts.js'
import { EventLog, LOCK_BY_ID, sessionsOfBatch } from '../events/event-log.js'
import { eventSession, linksOfParticipants, linksWhere } from '../events/event-queries.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { GroupRead, rowsBySession } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { execute, firstRow, rows } from '../platform/database/sql.js'
import { type SessionIds, sessionsById } from './session-ids.js'
import { STREAM_INFO } from './stream-columns.js'
import { deleteStreams, type EndedStream } from './stream-deletions.js'
import { insertStreams, type NewStream } from './stream-inserts.js'
import { StreamEntity } from './stream.entity.js'

/** The most ends of streams that a connection keeps. */
const MOST_ENDED = 32

/** A group commit writes the streams of several calls, each with a trace of its own. */
type Insertion = NewStream & { traceContext: string | null }

function publicationEvents(session: SessionIds | undefined, stream: Insertion): EventDraft[] {
  const { id: streamId, connectionId, createdAt: startTime, mediaOptions, rtspUri = null, traceContext } = stream
  const link = { streamId, publisherId: connectionId, connectionId, isInbound: false, startTime, mediaOptions, rtspUri }
  return session ? [{ ...webrtcCreated(session, link), traceContext }] : []
}

/** Why a stream was not inserted; its connection publishes `published` streams. */
function refusal({ id, maxStreams }: NewStream, existing: ReadonlySet<string>, published: number): ServiceError {
  if (existing.has(id)) return new ServiceError('CONFLICT', `streamId: the stream ${id} is published already`)
  if (maxStreams !== null && published >= maxStreams) {
    const text = `maxStreamsPerParticipant: the participant publishes its maximum of ${maxStreams} streams`
    return new ServiceError('LIMIT_REACHED', text)
  }
  return new ServiceError('NOT_FOUND', 'the connection has ended', { subject: 'connection' })
}

const PRESENT = new KeyedStatement<StreamInfo & { sessionId: string }>(
  (is) => `SELECT p.session_id AS "sessionId", ${STREAM_INFO} FROM stream p
    WHERE p.session_id ${is} ORDER BY p.created_at, p.id`,
)

const readLinksOfStreams = linksWhere(() => 'p.id = ANY($1)')

/** The rows of published streams. */
@Injectable()
export class StreamRepository {
  readonly #insertions: GroupCommit<Insertion, true>
  readonly #deletions: GroupCommit<EndedStream, StreamInfo | 'missing'>
  readonly #present = new GroupRead<string, StreamInfo[]>((sessionIds) => this.#presentIn(sessionIds))

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {
    this.#insertions = new GroupCommit('stream', (streams) => this.#insertAll(streams), isLockingBatchFault)
    this.#deletions = new GroupCommit('unpublication', (ended) => this.#deleteAll(ended), isLockingBatchFault)
  }

  /**
   * NOT_FOUND when the publisher or the session's media has ended meanwhile, CONFLICT when the stream exists,
   * LIMIT_REACHED when the publisher has its maximum of streams.
   */
  insert(stream: NewStream): Promise<true> {
    return this.#insertions.add({ ...stream, traceContext: currentTraceparent() ?? null })
  }

  async #insertAll(streams: Insertion[]): Promise<(true | Error)[]> {
    const sessionIds = streams.map(({ sessionId }) => sessionId)
    const isAlwaysLocked = streams.some(({ maxStreams }) => maxStreams !== null)
    const locked = { lock: LOCK_BY_ID, keys: sessionIds, isAlwaysLocked }
    const insertedIds = await this.events.change(locked, async (manager, record) => {
      const inserted = new Set(await insertStreams(manager, streams))
      const sessions = this.events.isOn ? await sessionsById(manager, sessionIds) : undefined
      const published = streams.filter(({ id }) => inserted.has(id))
      await record(...published.flatMap((stream) => publicationEvents(sessions?.get(stream.sessionId), stream)))
      return inserted
    })
    const others = streams.filter(({ id }) => !insertedIds.has(id))
    const [existing, counts] = await Promise.all([
      this.existing(others.map(({ id }) => id)),
      this.#counts(others.filter(({ maxStreams }) => maxStreams !== null).map(({ connectionId }) => connectionId)),
    ])
    return streams.map((stream) =>
      insertedIds.has(stream.id) ? true : refusal(stream, existing, counts.get(stream.connectionId) ?? 0),
    )
  }

  /** The numbers of published streams of these connections. */
  async #counts(connectionIds: string[]): Promise<Map<string, number>> {
    if (connectionIds.length === 0) return new Map()
    const counted = await rows<{ id: string; streams: number }>(
      this.dataSource.manager,
      'SELECT connection_id AS id, count(*) AS streams FROM stream WHERE connection_id = ANY($1) GROUP BY connection_id',
      [connectionIds],
    )
    return new Map(counted.map(({ id, streams }) => [id, streams]))
  }

  /** Returns those of the ids that are published. */
  async existing(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const streams = await this.dataSource
      .getRepository(StreamEntity)
      .find({ select: { id: true }, where: { id: In([...ids]) } })
    return new Set(streams.map(({ id }) => id))
  }

  /** Whether a client may publish the stream again after a loss of its media: its connection is present. */
  async mayReturn(sessionId: string, streamId: string): Promise<boolean> {
    const connectionId = publisherOf(streamId)
    if (connectionId === streamId) return false
    const present = await firstRow(
      this.dataSource.manager,
      `SELECT 1 FROM connection WHERE id = $1 AND session_id = $2 AND status = 'active' AND type = 'WEBRTC'`,
      [connectionId, sessionId],
    )
    return present !== undefined
  }

  /**
   * Keeps that others have ended the stream: its publisher does not publish it again. False as `mayReturn`, and when
   * others have ended it before.
   */
  async keepEnd(sessionId: string, streamId: string, reason: StreamDestroyedReason): Promise<boolean> {
    const ended = await execute(
      this.dataSource.manager,
      `UPDATE connection SET ended_streams = jsonb_build_object($3::text, $4::text) || CASE
         WHEN (SELECT count(*) FROM jsonb_object_keys(ended_streams)) BETWEEN 1 AND ${MOST_ENDED - 1}
         THEN ended_streams ELSE '{}' END
       WHERE id = $1 AND id <> $3 AND session_id = $2 AND status = 'active' AND type = 'WEBRTC'
         AND (ended_streams ? $3) IS NOT TRUE`,
      [publisherOf(streamId), sessionId, streamId, reason],
    )
    return ended > 0
  }

  /** Why others have ended the stream of the connection; undefined: they have not. */
  async keptEnd(connectionId: string, streamId: string): Promise<StreamDestroyedReason | undefined> {
    const found = await firstRow<{ reason: StreamDestroyedReason | null }>(
      this.dataSource.manager,
      'SELECT ended_streams ->> $2 AS reason FROM connection WHERE id = $1',
      [connectionId, streamId],
    )
    return found?.reason ?? undefined
  }

  async find(sessionId: string, id: string): Promise<StreamInfo | undefined> {
    const stream = await this.dataSource.getRepository(StreamEntity).findOneBy({ id, sessionId })
    if (!stream) return undefined
    const { id: streamId, connectionId, createdAt, mediaOptions } = stream
    return { streamId, connectionId, createdAt, mediaOptions }
  }

  /** The streams of the session, the oldest first. Written by hand: every join reads them. */
  async present(sessionId: string): Promise<StreamInfo[]> {
    return (await this.#present.get(sessionId)) ?? []
  }

  async #presentIn(sessionIds: string[]): Promise<Map<string, StreamInfo[]>> {
    return rowsBySession(await PRESENT.rows(this.dataSource, sessionIds))
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
  async delete(
    sessionId: string,
    streamId: string,
    reason: StreamDestroyedReason,
    { connectionId, keepFilter = false }: { connectionId?: string; keepFilter?: boolean } = {},
  ): Promise<StreamInfo | undefined> {
    const end = { sessionId, streamId, reason, connectionId: connectionId ?? null, keepFilter }
    const deleted = await this.#deletions.add({ ...end, traceContext: currentTraceparent() ?? null })
    return deleted === 'missing' ? undefined : deleted
  }

  #deleteAll(ended: EndedStream[]): Promise<(StreamInfo | 'missing')[]> {
    const sessionIds = ended.map(({ sessionId }) => sessionId)
    return this.events.change(sessionsOfBatch(LOCK_BY_ID, sessionIds), async (manager, record) => {
      const ids = ended.map(({ streamId }) => streamId)
      const links = this.events.isOn ? await readLinksOfStreams(manager, ids) : []
      const sessions = this.events.isOn ? await sessionsById(manager, sessionIds) : undefined
      const deleted = new Map(
        (await deleteStreams(manager, ended)).map(({ index, ...stream }) => [ended[index], stream]),
      )
      const now = this.clock.now()
      await record(
        ...ended.flatMap((one) => {
          const session = sessions?.get(one.sessionId)
          if (!session || !deleted.has(one)) return []
          const { streamId, reason, traceContext } = one
          const own = links.filter((link) => link.streamId === streamId)
          return own.map((link) => ({ ...webrtcDestroyed(session, link, reason, now), traceContext }))
        }),
      )
      return ended.map((one) => deleted.get(one) ?? 'missing')
    })
  }

  /** Deletes the subscriptions and the streams of a participant, and returns the streams. */
  deleteOf(sessionId: string, connectionId: string, reason: StreamDestroyedReason): Promise<StreamInfo[]> {
    const values = [sessionId, connectionId]
    return this.events.change({ lock: LOCK_BY_ID, keys: [sessionId] }, async (manager, record) => {
      if (this.events.isOn) {
        const session = await eventSession(manager, sessionId)
        const links = await linksOfParticipants(manager, [connectionId], [sessionId])
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
