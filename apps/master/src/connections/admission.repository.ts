import { ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { participantJoined } from '../events/event-drafts.js'
import { EventLog, sessionLock } from '../events/event-log.js'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../platform/database/group-commit.js'
import { GroupRead } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { rows } from '../platform/database/sql.js'
import type { Participant, TakeToken } from './connection.records.js'
import { PARTICIPANT } from './participant-columns.js'

/** Tokens that one transaction takes at most: it holds the locks of all their sessions. */
const MOST_TAKEN = 100

/** UTC ms by the clock of the database, which all masters share. */
const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

interface Admission extends Omit<TakeToken, 'connectionId'> {
  tokenHash: Buffer
}

/**
 * The session of a token, which stays locked until the commit: one that ends concurrently waits for the join, or the join
 * finds it deleted.
 */
const sessions = (isToken: string): string => `SELECT * FROM session
  WHERE id = ANY(ARRAY(SELECT session_id FROM connection WHERE token_hash ${isToken})) ORDER BY id FOR KEY SHARE`
const LOCK_BY_TOKEN = sessionLock(
  (isToken) => `s.id = ANY(ARRAY(SELECT session_id FROM connection WHERE token_hash ${isToken}))`,
  'bytea',
)

/** The numbers of the joins of one batch into each session with a limit, in their order. */
const rivals = (
  isToken: string,
): string => `SELECT c.id, row_number() OVER (PARTITION BY c.session_id ORDER BY a.nth) AS nth
  FROM asked a JOIN connection c USING (token_hash) JOIN s ON s.id = c.session_id
  WHERE c.token_hash ${isToken} AND s.max_participants IS NOT NULL AND c.status = 'pending' AND c.role <> 'MODERATOR'`

/**
 * Condition on a pending `connection c` of the session `s`: it may join. $7: the session's lock is held. Moderators,
 * cameras and recorders do not count.
 */
const HAS_ROOM = `(s.max_participants IS NULL OR c.role = 'MODERATOR' OR $7 AND s.max_participants >= (
    SELECT count(*) FROM connection k
    WHERE k.session_id = s.id AND k.status = 'active' AND k.type = 'WEBRTC' AND k.role <> 'MODERATOR')
  + (SELECT nth FROM rival WHERE rival.id = c.id))`

const TAKE = new KeyedStatement<Participant & { index: number }>(
  (isToken) => `
  WITH asked AS MATERIALIZED (
         SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[])
           WITH ORDINALITY AS r(token_hash, client_data, ip, platform, location, resume_hash, nth)),
       s AS (${sessions(isToken)}),
       rival AS (${rivals(isToken)}),
       taken AS (UPDATE connection c SET status = CASE c.status WHEN 'awaited' THEN 'hidden' ELSE 'active' END,
           active_at = ${NOW_MS}, client_data = a.client_data, ip = a.ip, platform = a.platform,
           location = a.location, resume_hash = a.resume_hash, master_id = $8, evict_at = NULL
         FROM s, asked a WHERE s.id = c.session_id AND c.token_hash = a.token_hash AND c.token_hash ${isToken}
           AND (c.status = 'pending' AND ${HAS_ROOM} OR c.status = 'awaited' AND c.evict_at > clock_timestamp())
         RETURNING a.nth::integer - 1 AS index, ${PARTICIPANT}),
       begun AS (UPDATE session b SET ends_at = clock_timestamp() + b.max_duration * interval '1 second'
         FROM (SELECT id FROM session WHERE id = ANY(ARRAY(SELECT "sessionId" FROM taken))
                 AND max_duration IS NOT NULL AND ends_at IS NULL ORDER BY id FOR NO KEY UPDATE) first
         WHERE b.id = first.id)
  SELECT * FROM taken ORDER BY index`,
  'bytea',
)

/**
 * Turns connections into participants by their tokens. Hand-written: the statements are on the path of every join. When
 * many join at once, one transaction takes the tokens of all.
 */
@Injectable()
export class AdmissionRepository {
  readonly #admissions: GroupCommit<Admission, Participant | 'invalid'>
  /** By the hexadecimal digest. */
  readonly #valid = new GroupRead<string, true>((hashes) => this.#validTokens(hashes))

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
  ) {
    this.#admissions = new GroupCommit<Admission, Participant | 'invalid'>(
      'join',
      (admissions) => this.#takeAll(admissions),
      isLockingBatchFault,
      MOST_TAKEN,
    )
  }

  /**
   * Uses up the token. Undefined when it is unknown or used already.
   * @throws ServiceError LIMIT_REACHED when the session has its maximum of participants
   */
  async take(tokenHash: Buffer, taken: Omit<TakeToken, 'connectionId'>): Promise<Participant | undefined> {
    const participant = await this.#admissions.add({ ...taken, tokenHash })
    return participant === 'invalid' ? undefined : participant
  }

  /** Whether the token could be taken, apart from limits. */
  async isValid(tokenHash: Buffer): Promise<boolean> {
    return (await this.#valid.get(tokenHash.toString('hex'))) ?? false
  }

  async #validTokens(hashes: string[]): Promise<Map<string, true>> {
    const valid = await rows<{ hash: Buffer }>(
      this.dataSource.manager,
      `SELECT token_hash AS hash FROM connection WHERE token_hash = ANY($1) AND status IN ('pending', 'awaited')`,
      [hashes.map((hash) => Buffer.from(hash, 'hex'))],
    )
    return new Map(valid.map(({ hash }) => [hash.toString('hex'), true]))
  }

  /** `isLocked`: takes tokens under the locks of their sessions, so that participants can be counted. */
  async #takeAll(
    admissions: Admission[],
    isLocked = this.events.isOn,
  ): Promise<(Participant | ServiceError | 'invalid')[]> {
    const taken = await this.#takeTokens(admissions, isLocked)
    const others = admissions.filter((admission) => !taken.has(admission))
    const limits = await this.#participantLimits(others)
    const limited = others.filter((admission) => limits.has(admission))
    // Only sessions with a limit cost a second attempt, which holds their locks.
    const counted = isLocked || limited.length === 0 ? [] : await this.#takeAll(limited, true)
    const results = new Map(limited.map((admission, index) => [admission, counted[index]]))
    return admissions.map((admission) => {
      const most = limits.get(admission)
      const refused = most === undefined ? 'invalid' : limitReached(most)
      return taken.get(admission) ?? results.get(admission) ?? refused
    })
  }

  #takeTokens(admissions: Admission[], isLocked: boolean): Promise<Map<Admission, Participant>> {
    const keys = admissions.map(({ tokenHash }) => tokenHash)
    return this.events.change({ lock: LOCK_BY_TOKEN, keys, isAlwaysLocked: isLocked }, async (manager, record) => {
      const taken = await takeRows(manager, admissions, isLocked)
      const joined = [...taken].filter(([, { isHidden }]) => !isHidden)
      await record(
        ...joined.map(([admission, participant]) => {
          const { sessionId: id, roomId: uniqueSessionId, traceContext } = participant
          return { ...participantJoined({ id, uniqueSessionId }, { ...participant, ...admission }), traceContext }
        }),
      )
      return taken
    })
  }

  /** The maximum number of participants of the session for which a token is still valid; none without a maximum. */
  async #participantLimits(admissions: Admission[]): Promise<Map<Admission, number>> {
    if (admissions.length === 0) return new Map()
    const limits = await rows<{ hash: Buffer; most: number }>(
      this.dataSource.manager,
      `SELECT c.token_hash AS hash, s.max_participants AS most FROM connection c JOIN session s ON s.id = c.session_id
       WHERE c.token_hash = ANY($1) AND c.status = 'pending' AND s.max_participants IS NOT NULL`,
      [admissions.map(({ tokenHash }) => tokenHash)],
    )
    const byHash = new Map(limits.map(({ hash, most }) => [hash.toString('hex'), most]))
    return new Map(
      admissions.flatMap((admission) => {
        const most = byHash.get(admission.tokenHash.toString('hex'))
        return most === undefined ? [] : [[admission, most] as const]
      }),
    )
  }
}

/** In the order of the admissions. A token that two of them bring is the first one's. */
async function takeRows(
  manager: EntityManager,
  admissions: Admission[],
  isLocked: boolean,
): Promise<Map<Admission, Participant>> {
  const asked = firstOfEach(admissions, ({ tokenHash }) => tokenHash.toString('hex'))
  const taken = await TAKE.rows(
    manager,
    asked.map(({ tokenHash }) => tokenHash),
    asked.map(({ clientData }) => clientData),
    asked.map(({ ip }) => ip),
    asked.map(({ platform }) => platform),
    asked.map(({ location }) => location),
    asked.map(({ resumeHash }) => resumeHash),
    isLocked,
    asked[0]?.masterId,
  )
  return new Map(
    taken.flatMap(({ index, ...participant }) => {
      const admission = asked[index]
      return admission ? [[admission, participant] as const] : []
    }),
  )
}

const limitReached = (most: number): ServiceError =>
  new ServiceError('LIMIT_REACHED', `maxParticipants: the session has its maximum of ${most} participants`)
