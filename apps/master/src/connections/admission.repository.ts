import { ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { participantJoined } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { firstRow } from '../platform/database/sql.js'
import type { Participant, TakeToken } from './connection.records.js'
import { PARTICIPANT } from './participant-columns.js'

/** UTC ms by the clock of the database, which all masters share. */
const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

/**
 * Condition on a pending `connection c` of the session `s`: it may join. $8: the session's lock is held. Moderators,
 * cameras and recorders do not count.
 */
const HAS_ROOM = `(s.max_participants IS NULL OR c.role = 'MODERATOR' OR $8 AND s.max_participants > (
    SELECT count(*) FROM connection k
    WHERE k.session_id = s.id AND k.status = 'active' AND k.type = 'WEBRTC' AND k.role <> 'MODERATOR'))`

/** Turns a connection into a participant by its token. Hand-written: the statements are on the path of every join. */
@Injectable()
export class AdmissionRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
  ) {}

  /**
   * Uses up the token. Undefined when it is unknown or used already.
   * @throws ServiceError LIMIT_REACHED when the session has its maximum of participants
   */
  async take(tokenHash: Buffer, taken: Omit<TakeToken, 'connectionId'>): Promise<Participant | undefined> {
    const participant = await this.#take(tokenHash, taken, this.events.isOn)
    if (participant) return participant
    if (!this.events.isOn) {
      // Only sessions with a limit cost a second attempt, which holds their lock.
      if ((await this.#participantLimit(tokenHash)) === undefined) return undefined
      const counted = await this.#take(tokenHash, taken, true)
      if (counted) return counted
    }
    const most = await this.#participantLimit(tokenHash)
    if (most === undefined) return undefined
    throw new ServiceError('LIMIT_REACHED', `maxParticipants: the session has its maximum of ${most} participants`)
  }

  #take(
    tokenHash: Buffer,
    taken: Omit<TakeToken, 'connectionId'>,
    isLocked: boolean,
  ): Promise<Participant | undefined> {
    const where = 's.id = (SELECT session_id FROM connection WHERE token_hash = $1)'
    return this.events.change({ where, values: [tokenHash], isAlwaysLocked: isLocked }, async (manager, record) => {
      const participant = await this.#takeRow(manager, tokenHash, taken, isLocked)
      if (participant && !participant.isHidden) {
        const { sessionId: id, roomId: uniqueSessionId, traceContext } = participant
        const joined = participantJoined({ id, uniqueSessionId }, { ...participant, ...taken })
        await record({ ...joined, traceContext })
      }
      return participant
    })
  }

  /** The maximum number of participants of the session for which this token is still valid; undefined without one. */
  async #participantLimit(tokenHash: Buffer): Promise<number | undefined> {
    const row = await firstRow<{ most: number }>(
      this.dataSource.manager,
      `SELECT s.max_participants AS most FROM connection c JOIN session s ON s.id = c.session_id
       WHERE c.token_hash = $1 AND c.status = 'pending' AND s.max_participants IS NOT NULL`,
      [tokenHash],
    )
    return row?.most
  }

  /** `isLocked`: the lock of the session's row is held, so that participants can be counted. */
  #takeRow(
    manager: EntityManager,
    tokenHash: Buffer,
    taken: Omit<TakeToken, 'connectionId'>,
    isLocked: boolean,
  ): Promise<Participant | undefined> {
    return firstRow<Participant>(
      manager,
      // With the share lock, a session that ends concurrently waits for this join, or this join finds it deleted.
      `WITH s AS (SELECT * FROM session
                  WHERE id = (SELECT session_id FROM connection WHERE token_hash = $1) FOR KEY SHARE),
            taken AS (UPDATE connection c SET status = CASE c.status WHEN 'awaited' THEN 'hidden' ELSE 'active' END,
              active_at = ${NOW_MS}, client_data = $2, ip = $3, platform = $4,
              location = $5, resume_hash = $6, master_id = $7, evict_at = NULL
       FROM s WHERE s.id = c.session_id AND c.token_hash = $1
         AND (c.status = 'pending' AND ${HAS_ROOM} OR c.status = 'awaited' AND c.evict_at > clock_timestamp())
       RETURNING ${PARTICIPANT}),
            begun AS (UPDATE session b SET ends_at = clock_timestamp() + b.max_duration * interval '1 second'
                      FROM taken t WHERE b.id = t."sessionId" AND b.max_duration IS NOT NULL AND b.ends_at IS NULL)
       SELECT * FROM taken`,
      [
        tokenHash,
        taken.clientData,
        taken.ip,
        taken.platform,
        taken.location,
        taken.resumeHash,
        taken.masterId,
        isLocked,
      ],
    )
  }
}
