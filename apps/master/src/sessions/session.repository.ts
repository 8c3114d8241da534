import { ServiceError } from '@session-service/contract'
import { currentTraceparent, describeSpan } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, LessThanOrEqual } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { columns, type Queryable, rows } from '../platform/database/sql.js'
import { isBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { GroupRead } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { type EventDraft, sessionCreated } from '../events/event-drafts.js'
import { EventLog, type RecordEvents } from '../events/event-log.js'
import { insertSessions, type NewSession, type Uninserted } from './session-inserts.js'
import { SessionEntity } from './session.entity.js'

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

const tooManySessions = (most: number): ServiceError =>
  new ServiceError('NO_CAPACITY', `the cluster has its maximum of ${most} sessions (SERVICE_SESSIONS_MAX_CONCURRENT)`)

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

const EXISTING = new KeyedStatement<{ id: string }>((is) => `SELECT id FROM session WHERE id ${is}`)

@Injectable()
export class SessionRepository {
  readonly #creations: GroupCommit<Insertion, true>
  readonly #existing = new GroupRead<string, true>(async (ids) => {
    const existing = await EXISTING.rows(this.dataSource.manager, ids)
    return new Map(existing.map(({ id }) => [id, true]))
  })

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
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
    const insert = async (manager: Queryable, record: RecordEvents): Promise<Map<string, Uninserted>> => {
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

  async exists(id: string): Promise<boolean> {
    return (await this.#existing.get(id)) ?? false
  }

  isLive(uniqueSessionId: string): Promise<boolean> {
    return this.dataSource.getRepository(SessionEntity).existsBy({ uniqueSessionId })
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
