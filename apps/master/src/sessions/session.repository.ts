import {
  ServiceError,
  type CreateSessionBody,
  type DisconnectReason,
  type ForcedVideoCodec,
  type RecordingProperties,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isDataFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { departures, sessionCreated, sessionDestroyed } from '../events/event-drafts.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { SessionEndHooks } from './session-end-hooks.js'
import { type MaybePlace, PLACE, placeOf } from '../media-nodes/session-place.js'

export interface NewSession {
  id: string
  uniqueSessionId: string
  createdAt: number
  mediaMode: CreateSessionBody['mediaMode']
  recordingMode: CreateSessionBody['recordingMode']
  hasCustomId: boolean
  forcedVideoCodec: ForcedVideoCodec
  allowTranscoding: boolean
  recordingProperties: RecordingProperties
  forcedNodeId: string | null
}

/** A session as backends see it, without its connections. */
export interface SessionRow extends NewSession {
  mediaNodeId: string | null
  isRecorded: boolean
}

/** Columns of one session `s`. */
export const SESSION_ROW = `
  s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt", s.media_mode AS "mediaMode",
  s.recording_mode AS "recordingMode", s.has_custom_id AS "hasCustomId", s.forced_video_codec AS "forcedVideoCodec",
  s.allow_transcoding AS "allowTranscoding", s.recording_properties AS "recordingProperties",
  s.forced_node_id AS "forcedNodeId", s.media_node_id AS "mediaNodeId",
  EXISTS (SELECT 1 FROM recording r WHERE r.unique_session_id = s.unique_id AND r.status = 'started') AS "isRecorded"`

/** Who was in a session that has just been deleted, in the order they joined, and what they published. */
export interface ClosedSession {
  id: string
  uniqueSessionId: string
  createdAt: number
  place: RoomPlace | null
  participants: { connectionId: string; streamIds: string[] }[]
  /** Those that its end stopped. */
  recordingIds: string[]
}

/** What is being created nobody else sees yet: there is nothing to lock. */
const NO_SESSION_YET = { where: 'false', values: [] }

/** Why a session ends that nobody is in. */
export type EmptyEnd = 'automaticStop' | 'lastParticipantLeft'

/** Which session is deleted; with `epoch` only if its media is still of that placement. */
type Doomed = { id: string } | { uniqueSessionId: string; epoch?: number }

@Injectable()
export class SessionRepository {
  private readonly creations: GroupCommit<NewSession, true>

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {
    this.creations = new GroupCommit((sessions) => this.insertAll(sessions), isDataFault)
  }

  /** CONFLICT when a live session has the id. */
  insert(session: NewSession): Promise<true> {
    return this.creations.add(session)
  }

  private async insertAll(sessions: NewSession[]): Promise<(true | Error)[]> {
    const first = new Map<string, NewSession>()
    for (const session of sessions) if (!first.has(session.id)) first.set(session.id, session)
    const given = [...first.values()]
    const ids = await this.events.change(NO_SESSION_YET, async (manager, record) => {
      const inserted = new Set(await this.insertRows(manager, given))
      await record(...given.filter(({ id }) => inserted.has(id)).map(sessionCreated))
      return inserted
    })
    return sessions.map((session) =>
      ids.has(session.id) && first.get(session.id) === session
        ? true
        : new ServiceError('CONFLICT', `a session with the id ${session.id} exists`),
    )
  }

  /** In the order of ids, so that two masters that create the same ones never wait for one another. */
  private async insertRows(manager: Manager, sessions: NewSession[]): Promise<string[]> {
    const inserted = await manager.query<{ id: string }[]>(
      `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                            allow_transcoding, recording_properties, forced_node_id)
       SELECT r.id, r."uniqueSessionId", r."createdAt", r."mediaMode", r."recordingMode", r."hasCustomId",
              r."forcedVideoCodec", r."allowTranscoding", r."recordingProperties", r."forcedNodeId"
       FROM jsonb_to_recordset($1::jsonb) AS r(id text, "uniqueSessionId" text, "createdAt" bigint, "mediaMode" text,
              "recordingMode" text, "hasCustomId" boolean, "forcedVideoCodec" text, "allowTranscoding" boolean,
              "recordingProperties" jsonb, "forcedNodeId" text)
       ORDER BY r.id ON CONFLICT DO NOTHING RETURNING id`,
      [JSON.stringify(sessions)],
    )
    return inserted.map(({ id }) => id)
  }

  async exists(id: string): Promise<boolean> {
    return (await this.dataSource.query<unknown[]>('SELECT 1 FROM session WHERE id = $1', [id])).length > 0
  }

  /** Deletes the session and all that is in it; undefined when there is none any more. */
  delete(where: Doomed, reason: DisconnectReason, afterEventId?: string): Promise<ClosedSession | undefined> {
    return this.deleteIf(where, reason, () => true, afterEventId)
  }

  /** Deletes the session unless somebody has joined it meanwhile. */
  deleteUnused(uniqueSessionId: string, reason: EmptyEnd = 'automaticStop'): Promise<ClosedSession | undefined> {
    return this.deleteIf({ uniqueSessionId }, reason, ({ length }) => length === 0)
  }

  private deleteIf(
    where: Doomed,
    reason: DisconnectReason | EmptyEnd,
    condition: (participants: ClosedSession['participants']) => boolean,
    after?: string,
  ): Promise<ClosedSession | undefined> {
    const run = async (manager: EntityManager, record: Record): Promise<ClosedSession | undefined> => {
      const [column, value] = 'id' in where ? ['id', where.id] : ['unique_id', where.uniqueSessionId]
      const [session] = await manager.query<
        (MaybePlace & { id: string; uniqueSessionId: string; createdAt: number })[]
      >(
        `SELECT id, unique_id AS "uniqueSessionId", created_at AS "createdAt", ${PLACE}
         FROM session WHERE ${column} = $1 FOR UPDATE`,
        [value],
      )
      if (!session || ('epoch' in where && placeOf(session)?.epoch !== where.epoch)) return undefined
      const participants = await manager.query<ClosedSession['participants']>(
        `SELECT c.id AS "connectionId",
                ARRAY(SELECT p.id FROM stream p WHERE p.connection_id = c.id ORDER BY p.created_at, p.id) AS "streamIds"
         FROM connection c WHERE c.session_id = $1 AND c.status = 'active' ORDER BY c.active_at, c.id`,
        [session.id],
      )
      if (!condition(participants)) return undefined
      const now = this.clock.now()
      const { events, recordingIds } = await this.endHooks.end(manager, session.uniqueSessionId, reason, now)
      if (this.events.isOn) {
        const isEmpty = reason === 'automaticStop' || reason === 'lastParticipantLeft'
        const leaving = isEmpty ? [] : await this.leaving(manager, session, reason, now)
        await record(...leaving, ...events, sessionDestroyed(session, reason, now))
      }
      await manager.query('DELETE FROM session WHERE id = $1', [session.id])
      const { id, uniqueSessionId, createdAt } = session
      return {
        id,
        uniqueSessionId,
        createdAt,
        place: placeOf(session) ?? null,
        participants,
        recordingIds,
      }
    }
    return this.events.transaction(run, { after })
  }

  private async leaving(
    manager: Manager,
    session: { id: string; uniqueSessionId: string },
    reason: DisconnectReason,
    now: number,
  ): Promise<ReturnType<typeof departures>> {
    const participants = await this.events.participants(manager, 'c.session_id = $1', [session.id])
    const links = await this.events.links(manager, () => 'p.session_id = $1', [session.id])
    return departures(session, participants, links, reason, now)
  }

  /** What was created until then, UTC ms, oldest first. */
  async createdUntil(time: number): Promise<string[]> {
    const rows = await this.dataSource.query<{ uniqueSessionId: string }[]>(
      'SELECT unique_id AS "uniqueSessionId" FROM session WHERE created_at <= $1 ORDER BY created_at, id',
      [time],
    )
    return rows.map(({ uniqueSessionId }) => uniqueSessionId)
  }

  /** Sessions older than `seconds` without anybody in them. */
  async unused(seconds: number): Promise<string[]> {
    const rows = await this.dataSource.query<{ uniqueSessionId: string }[]>(
      `SELECT s.unique_id AS "uniqueSessionId" FROM session s
       WHERE s.created_at < extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint * 1000
         AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active')
         AND NOT EXISTS (SELECT 1 FROM recording r
                         WHERE r.unique_session_id = s.unique_id AND r.status IN ('starting', 'started'))`,
      [seconds],
    )
    return rows.map(({ uniqueSessionId }) => uniqueSessionId)
  }
}
