import { ServiceError, type DisconnectReason } from '@session-service/contract'
import { currentTraceparent, describeSpan } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, type EntityManager, LessThanOrEqual } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { isBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { departures, type EventDraft, sessionCreated, sessionDestroyed } from '../events/event-drafts.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { insertSessions, type NewSession, type Uninserted } from './session-inserts.js'
import { SessionEntity } from './session.entity.js'
import { SessionEndHooks } from './session-end-hooks.js'
import { type MaybePlace, PLACE, placeOf } from '../media-nodes/session-place.js'

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
    'maxParticipants',
    'maxStreams',
    'maxDuration',
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

const tooManySessions = (most: number): ServiceError =>
  new ServiceError('NO_CAPACITY', `the cluster has its maximum of ${most} sessions (SERVICE_SESSIONS_MAX_CONCURRENT)`)

/** The reason of participants that leave a session whose maximum duration has passed. */
export const EXPIRED_DEPARTURE = 'sessionClosedByServer' satisfies DisconnectReason

/** Reasons for the end of a session without participants. */
export type EmptyEnd = 'automaticStop' | 'lastParticipantLeft'

type LockedSession = Pick<SessionEntity, 'id' | 'uniqueSessionId' | 'createdAt' | 'wasEmptied'>

const isWithoutClients = (participants: ClosedSession['participants']): boolean =>
  participants.every(({ isCamera }) => isCamera)

/** Selects the session to delete; with `epoch` only if it has not been placed again since. */
type SessionSelector = { id: string } | { uniqueSessionId: string; epoch?: number }

/** A group commit writes the sessions of several requests, each with a trace of its own. */
type Insertion = NewSession & { traceContext: string | null }

const createdEvent = ({ mediaMode, recordingMode, hasCustomId, traceContext, ...session }: Insertion): EventDraft => ({
  ...sessionCreated(session, { mediaMode, recordingMode, customSessionId: hasCustomId ? session.id : '' }),
  traceContext,
})

/** Condition on `session`: its maximum duration has passed. */
const IS_EXPIRED = 'ends_at < clock_timestamp()'
/** By the index, also when the table was small when the statement was planned. */
export const EXPIRED_SESSIONS = `SELECT 1 FROM (SELECT min(ends_at) AS ends_at FROM session) s WHERE ${IS_EXPIRED}`

@Injectable()
export class SessionRepository {
  readonly #creations: GroupCommit<Insertion, true>

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#creations = new GroupCommit('session', (sessions) => this.#insertAll(sessions), isBatchFault)
  }

  /** CONFLICT when a live session has the id, NO_CAPACITY when the cluster has its maximum of sessions. */
  insert(session: NewSession): Promise<true> {
    describeSpan({ 'session.id': session.id })
    return this.#creations.add({ ...session, traceContext: currentTraceparent() ?? null })
  }

  async #insertAll(sessions: Insertion[]): Promise<(true | Error)[]> {
    const first = new Map<string, Insertion>()
    for (const session of sessions) if (!first.has(session.id)) first.set(session.id, session)
    const given = [...first.values()]
    const most = this.config.SERVICE_SESSIONS_MAX_CONCURRENT
    const insert = async (manager: Manager, record: Record): Promise<Map<string, Uninserted>> => {
      const uninserted = await insertSessions(manager, given, most)
      await record(...given.filter(({ id }) => !uninserted.has(id)).map(createdEvent))
      return uninserted
    }
    const uninserted = await (most > 0 ? this.events.transaction(insert) : this.events.change('created', insert))
    return sessions.map((session) => {
      if (uninserted.get(session.id) === 'full') return tooManySessions(most)
      if (!uninserted.has(session.id) && first.get(session.id) === session) return true
      return new ServiceError('CONFLICT', `a session with the id ${session.id} exists`)
    })
  }

  exists(id: string): Promise<boolean> {
    return this.dataSource.getRepository(SessionEntity).existsBy({ id })
  }

  /** Deletes the session with its connections and streams. Undefined when there is no such session. */
  delete(where: SessionSelector, reason: DisconnectReason, afterEventId?: string): Promise<ClosedSession | undefined> {
    return this.#deleteIf(where, reason, () => true, { after: afterEventId })
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

  /** Deletes a session whose maximum duration has passed: its participants get a reason that their clients know. */
  deleteExpired(uniqueSessionId: string): Promise<ClosedSession | undefined> {
    return this.#deleteIf({ uniqueSessionId }, 'automaticStop', () => true, { departure: EXPIRED_DEPARTURE })
  }

  #deleteIf(
    where: SessionSelector,
    reason: DisconnectReason | EmptyEnd,
    condition: (participants: ClosedSession['participants'], session: Pick<SessionEntity, 'wasEmptied'>) => boolean,
    { after, departure = reason }: { after?: string | undefined; departure?: DisconnectReason | EmptyEnd } = {},
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
        const leaving = participants.length === 0 ? [] : await this.#leaving(manager, session, departure, now)
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

  /** The sessions whose maximum duration has passed, at most `limit`, the most overdue first. */
  async expired(limit: number): Promise<string[]> {
    const sessions = await rows<{ uniqueSessionId: string }>(
      this.dataSource.manager,
      `SELECT unique_id AS "uniqueSessionId" FROM session WHERE ${IS_EXPIRED} ORDER BY ends_at LIMIT $1`,
      [limit],
    )
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
