import {
  ServiceError,
  type CreateSessionBody,
  type DisconnectReason,
  type ForcedVideoCodec,
  type RecordingProperties,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager, LessThanOrEqual } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { isDataFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { departures, type EventDraft, sessionCreated, sessionDestroyed } from '../events/event-drafts.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { SessionEntity } from './session.entity.js'
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

/** A session as the REST API shows it, without its connections. */
export interface SessionRow extends NewSession {
  mediaNodeId: string | null
  isRecorded: boolean
}

/** Select list of a session `s`. */
export const SESSION_ROW = `
  ${columns(SessionEntity, 's', [
    'id',
    'uniqueSessionId',
    'createdAt',
    'mediaMode',
    'recordingMode',
    'hasCustomId',
    'forcedVideoCodec',
    'allowTranscoding',
    'recordingProperties',
    'forcedNodeId',
    'mediaNodeId',
  ])},
  EXISTS (SELECT 1 FROM recording r WHERE r.unique_session_id = s.unique_id AND r.status = 'started') AS "isRecorded"`

/** A session that was deleted, with its participants in the order they joined and their streams. */
export interface ClosedSession {
  id: string
  uniqueSessionId: string
  createdAt: number
  place: RoomPlace | null
  participants: { connectionId: string; streamIds: string[]; isCamera: boolean }[]
  /** Ids of recordings that its end stopped. */
  recordingIds: string[]
}

/** A session that is being created is not visible to other transactions, and needs no lock. */
const NO_SESSION_YET = { where: 'false', values: [] }

/** Reasons for the end of a session without participants. */
export type EmptyEnd = 'automaticStop' | 'lastParticipantLeft'

type LockedSession = Pick<SessionEntity, 'id' | 'uniqueSessionId' | 'createdAt' | 'wasEmptied'>

const isWithoutClients = (participants: ClosedSession['participants']): boolean =>
  participants.every(({ isCamera }) => isCamera)

/** Selects the session to delete; with `epoch` only if it has not been placed again since. */
type SessionSelector = { id: string } | { uniqueSessionId: string; epoch?: number }

const createdEvent = ({ mediaMode, recordingMode, hasCustomId, ...session }: NewSession): EventDraft =>
  sessionCreated(session, { mediaMode, recordingMode, customSessionId: hasCustomId ? session.id : '' })

@Injectable()
export class SessionRepository {
  readonly #creations: GroupCommit<NewSession, true>

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {
    this.#creations = new GroupCommit('session', (sessions) => this.#insertAll(sessions), isDataFault)
  }

  /** CONFLICT when a live session has the id. */
  insert(session: NewSession): Promise<true> {
    return this.#creations.add(session)
  }

  async #insertAll(sessions: NewSession[]): Promise<(true | Error)[]> {
    const first = new Map<string, NewSession>()
    for (const session of sessions) if (!first.has(session.id)) first.set(session.id, session)
    const given = [...first.values()]
    const ids = await this.events.change(NO_SESSION_YET, async (manager, record) => {
      const inserted = new Set(await this.#insertRows(manager, given))
      await record(...given.filter(({ id }) => inserted.has(id)).map(createdEvent))
      return inserted
    })
    return sessions.map((session) =>
      ids.has(session.id) && first.get(session.id) === session
        ? true
        : new ServiceError('CONFLICT', `a session with the id ${session.id} exists`),
    )
  }

  /**
   * Inserts in the order of ids, so that two masters that create the same sessions do not deadlock. Hand-written: a
   * group commit inserts all sessions in one statement.
   */
  async #insertRows(manager: Manager, sessions: NewSession[]): Promise<string[]> {
    const inserted = await rows<{ id: string }>(
      manager,
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

  exists(id: string): Promise<boolean> {
    return this.dataSource.getRepository(SessionEntity).existsBy({ id })
  }

  /** Deletes the session with its connections and streams. Undefined when there is no such session. */
  delete(where: SessionSelector, reason: DisconnectReason, afterEventId?: string): Promise<ClosedSession | undefined> {
    return this.#deleteIf(where, reason, () => true, afterEventId)
  }

  /** Deletes the session unless it has participants other than cameras. */
  deleteUnused(uniqueSessionId: string): Promise<ClosedSession | undefined> {
    return this.#deleteIf({ uniqueSessionId }, 'automaticStop', isWithoutClients)
  }

  /** Deletes a session that only its recording kept, or that has no participants at all. */
  deleteEmpty(uniqueSessionId: string, reason: EmptyEnd): Promise<ClosedSession | undefined> {
    return this.#deleteIf(
      { uniqueSessionId },
      reason,
      (participants, { wasEmptied }) => participants.length === 0 || (wasEmptied && isWithoutClients(participants)),
    )
  }

  #deleteIf(
    where: SessionSelector,
    reason: DisconnectReason | EmptyEnd,
    condition: (participants: ClosedSession['participants'], session: Pick<SessionEntity, 'wasEmptied'>) => boolean,
    after?: string,
  ): Promise<ClosedSession | undefined> {
    const run = async (manager: EntityManager, record: Record): Promise<ClosedSession | undefined> => {
      const [column, value] = 'id' in where ? ['id', where.id] : ['unique_id', where.uniqueSessionId]
      const session = await firstRow<MaybePlace & LockedSession>(
        manager,
        `SELECT ${columns(SessionEntity, 's', ['id', 'uniqueSessionId', 'createdAt', 'wasEmptied'])}, ${PLACE}
         FROM session s WHERE s.${column} = $1 FOR UPDATE`,
        [value],
      )
      if (!session || ('epoch' in where && placeOf(session)?.epoch !== where.epoch)) return undefined
      const participants = await rows<ClosedSession['participants'][number]>(
        manager,
        `SELECT c.id AS "connectionId", c.type = 'IPCAM' AS "isCamera",
                ARRAY(SELECT p.id FROM stream p WHERE p.connection_id = c.id ORDER BY p.created_at, p.id) AS "streamIds"
         FROM connection c WHERE c.session_id = $1 AND c.status = 'active' ORDER BY c.active_at, c.id`,
        [session.id],
      )
      if (!condition(participants, session)) return undefined
      const now = this.clock.now()
      const { events, recordingIds } = await this.endHooks.end(manager, session.uniqueSessionId, reason, now)
      if (this.events.isOn) {
        const leaving = participants.length === 0 ? [] : await this.#leaving(manager, session, reason, now)
        await record(...leaving, ...events, sessionDestroyed(session, reason, now, { mediaNodeId: session.nodeId }))
      }
      await execute(manager, 'DELETE FROM session WHERE id = $1', [session.id])
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

  async #leaving(
    manager: Manager,
    session: { id: string; uniqueSessionId: string },
    reason: DisconnectReason | EmptyEnd,
    now: number,
  ): Promise<ReturnType<typeof departures>> {
    const participants = await this.events.participants(manager, 'c.session_id = $1', [session.id])
    const links = await this.events.links(manager, () => 'p.session_id = $1', [session.id])
    return departures(session, participants, links, reason, now)
  }

  /** Sessions created until `time`, UTC ms, oldest first. */
  async createdUntil(time: number): Promise<string[]> {
    const sessions = await this.dataSource.getRepository(SessionEntity).find({
      select: { id: true, uniqueSessionId: true },
      where: { createdAt: LessThanOrEqual(time) },
      order: { createdAt: 'ASC', id: 'ASC' },
    })
    return sessions.map(({ uniqueSessionId }) => uniqueSessionId)
  }

  /** Sessions older than `seconds` without recordings and without participants other than cameras. */
  async unused(seconds: number): Promise<string[]> {
    const sessions = await rows<{ uniqueSessionId: string }>(
      this.dataSource.manager,
      `SELECT s.unique_id AS "uniqueSessionId" FROM session s
       WHERE s.created_at < extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint * 1000
         AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active' AND c.type = 'WEBRTC')
         AND NOT EXISTS (SELECT 1 FROM recording r
                         WHERE r.unique_session_id = s.unique_id AND r.status IN ('starting', 'started'))`,
      [seconds],
    )
    return sessions.map(({ uniqueSessionId }) => uniqueSessionId)
  }
}
