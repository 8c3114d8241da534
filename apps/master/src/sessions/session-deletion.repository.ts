import type { DisconnectReason } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { type EventDraft, sessionDestroyed } from '../events/event-drafts.js'
import { EventLog, type TransactionOptions } from '../events/event-log.js'
import { departuresFrom } from '../events/event-queries.js'
import { type MaybePlace, PLACE, placeOf } from '../media-nodes/session-place.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { errorClass, isLockingBatchFault } from '../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../platform/database/group-commit.js'
import { rowsBySession } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { columns, type Queryable, rows } from '../platform/database/sql.js'
import { SessionEndHooks } from './session-end-hooks.js'
import { SessionEntity } from './session.entity.js'

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

/** The reason of participants that leave a session whose maximum duration has passed. */
export const EXPIRED_DEPARTURE = 'sessionClosedByServer' satisfies DisconnectReason

/** Reasons for the end of a session without participants. */
export type EmptyEnd = 'automaticStop' | 'lastParticipantLeft'
type EndReason = DisconnectReason | EmptyEnd

type LockedSession = MaybePlace & Pick<SessionEntity, 'id' | 'uniqueSessionId' | 'createdAt' | 'wasEmptied'>
type Participant = ClosedSession['participants'][number] & { sessionId: string; isConnecting: boolean }

interface Deletion {
  /** The id of the session, or of one use of it. */
  key: string
  /** Only if it has not been placed again since. */
  epoch?: number | undefined
  reason: EndReason
  /** The reason of its participants. */
  departure: EndReason
  /** `participants`: with cameras that are connecting. */
  condition: (participants: ClosedSession['participants'], session: Pick<LockedSession, 'wasEmptied'>) => boolean
  /** Not while a recording starts or runs: the session waits for that one. */
  unlessRecorded?: boolean
  /** As in TransactionOptions. */
  after?: string | undefined
  traceContext: string | null
}

/** Without a condition, and with the same reason for its participants, unless others are given. */
type GivenDeletion = Pick<Deletion, 'key' | 'reason'> & Partial<Deletion>

/** In the trace of the current request. */
const deletionOf = (given: GivenDeletion): Deletion => ({
  departure: given.reason,
  condition: () => true,
  traceContext: currentTraceparent() ?? null,
  ...given,
})

/** A session that a deletion ends, with its participants. */
interface Ending {
  deletion: Deletion
  session: LockedSession
  participants: ClosedSession['participants']
}

/** Sessions that one transaction deletes at most: it holds the locks of all of them. */
const MOST_DELETED = 50
/** Participants of several sessions that one transaction deletes: the events of many take long. */
const MOST_PARTICIPANTS = 100

/** A session that is locked, or that cannot be deleted for its own reason, must not keep the others of its batch. */
const isSessionFault = (error: unknown): boolean => isLockingBatchFault(error) || errorClass(error) === 'other'

const isWithoutClients = (participants: ClosedSession['participants']): boolean =>
  participants.every(({ isCamera }) => isCamera)

/** Kept: there is no such session, or it does not meet the condition. Later: another transaction deletes it. */
type Outcome = ClosedSession | 'kept' | 'later'

/** The column by which a session is named. */
type Key = 'id' | 'uniqueSessionId'

// Locks in the order of ids, as every statement that locks several sessions: no two meet a deadlock.
const lockBy = (column: string): KeyedStatement<LockedSession> =>
  new KeyedStatement(
    (is) => `SELECT ${columns(SessionEntity, 's', ['id', 'uniqueSessionId', 'createdAt', 'wasEmptied'])}, ${PLACE}
      FROM session s WHERE s.${column} ${is} ORDER BY s.id FOR UPDATE`,
  )
const LOCK_BY = { id: lockBy('id'), uniqueSessionId: lockBy('unique_id') }
const PARTICIPANTS = `
  SELECT c.session_id AS "sessionId", c.id AS "connectionId", c.type = 'IPCAM' AS "isCamera",
         c.status = 'awaited' AS "isConnecting",
         ARRAY(SELECT p.id FROM stream p WHERE p.connection_id = c.id ORDER BY p.created_at, p.id) AS "streamIds"
  FROM connection c
  WHERE c.session_id = ANY($1) AND (c.status = 'active' OR c.status = 'awaited' AND c.type = 'IPCAM')
  ORDER BY c.active_at, c.id`
// After the locks: a start of a recording takes them too.
const RECORDED = new KeyedStatement<{ uniqueSessionId: string }>(
  (is) => `SELECT unique_session_id AS "uniqueSessionId" FROM recording
    WHERE unique_session_id ${is} AND status IN ('starting', 'started')`,
)
const DELETE = new KeyedStatement((is) => `DELETE FROM session WHERE id ${is}`)

/**
 * Deletes sessions with their connections and streams. Hand-written: the statements lock the session's row. Those that
 * end at the same moment are deleted together, the ones without participants first. Each deletion gives undefined when
 * there is no such session.
 */
@Injectable()
export class SessionDeletionRepository {
  /** The deletions of sessions without participants. */
  readonly #empty: { [K in Key]: GroupCommit<Deletion, Outcome> }
  readonly #populated: { [K in Key]: GroupCommit<Deletion, Outcome> }

  constructor(
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {
    const by = (key: Key, most: number): GroupCommit<Deletion, Outcome> =>
      new GroupCommit('end', (deletions) => this.#deleteAll(key, deletions, most), isSessionFault, MOST_DELETED)
    this.#empty = { id: by('id', 0), uniqueSessionId: by('uniqueSessionId', 0) }
    const most = MOST_PARTICIPANTS
    this.#populated = { id: by('id', most), uniqueSessionId: by('uniqueSessionId', most) }
  }

  /** Deletes the live session with this id. */
  delete(id: string, reason: DisconnectReason): Promise<ClosedSession | undefined> {
    return this.#delete('id', { key: id, reason })
  }

  /** Deletes one use of a session id. */
  deleteUse(uniqueSessionId: string, reason: DisconnectReason): Promise<ClosedSession | undefined> {
    return this.#delete('uniqueSessionId', { key: uniqueSessionId, reason })
  }

  /** Deletes a session that lost its media, unless it has been placed again since. `after`: see TransactionOptions. */
  deleteWithMedia(
    { uniqueSessionId: key, epoch }: { uniqueSessionId: string; epoch: number },
    reason: DisconnectReason,
    { after }: TransactionOptions,
  ): Promise<ClosedSession | undefined> {
    return this.#delete('uniqueSessionId', { key, epoch, reason, after })
  }

  /** Deletes the session unless it has participants other than cameras. */
  deleteUnused(uniqueSessionId: string): Promise<ClosedSession | undefined> {
    return this.#delete('uniqueSessionId', {
      key: uniqueSessionId,
      reason: 'automaticStop',
      condition: isWithoutClients,
    })
  }

  /**
   * Deletes a session that only its recording kept, or that has no participants at all and no camera that connects. With
   * `lastParticipantLeft` not while it is being recorded: the end of an earlier recording must not end the one that keeps
   * the session.
   */
  deleteEmpty(uniqueSessionId: string, reason: EmptyEnd): Promise<ClosedSession | undefined> {
    return this.#delete('uniqueSessionId', {
      key: uniqueSessionId,
      reason,
      condition: (participants, { wasEmptied }) =>
        participants.length === 0 || (wasEmptied && isWithoutClients(participants)),
      unlessRecorded: reason === 'lastParticipantLeft',
    })
  }

  /** Deletes a session whose maximum duration has passed: its participants get a reason that their clients know. */
  deleteExpired(uniqueSessionId: string): Promise<ClosedSession | undefined> {
    return this.#delete('uniqueSessionId', {
      key: uniqueSessionId,
      reason: 'automaticStop',
      departure: EXPIRED_DEPARTURE,
    })
  }

  async #delete(by: Key, given: GivenDeletion): Promise<ClosedSession | undefined> {
    const deletion = deletionOf(given)
    let outcome = await this.#empty[by].add(deletion)
    // Not each alone at once: many large sessions that end together would take all connections to the database.
    while (outcome === 'later') outcome = await this.#populated[by].add(deletion)
    return typeof outcome === 'object' ? outcome : undefined
  }

  /**
   * Deletes one session, or several with at most `most` participants together: at least one unless `most` is 0. Those
   * whose events follow another event than those of the first are for later.
   */
  #deleteAll(by: Key, deletions: Deletion[], most: number): Promise<Outcome[]> {
    const after = deletions[0]?.after
    return this.events.transaction(
      async (manager, record) => {
        const endings = await this.#lock(manager, by, deletions)
        const together = endings.filter(({ deletion }) => deletion.after === after)
        const chosen = deletions.length > 1 ? withParticipants(together, most) : together
        const [closed, now] = [new Map<Deletion, ClosedSession>(), this.clock.now()]
        const ending = chosen.map(({ deletion, session }) => {
          return { uniqueSessionId: session.uniqueSessionId, reason: deletion.reason }
        })
        const ended = await this.endHooks.end(manager, ending, now)
        const populated = chosen.filter(({ participants }) => participants.length > 0)
        const departing = populated.map(({ session, deletion }) => ({ session, reason: deletion.departure }))
        const leaving = this.events.isOn ? await departuresFrom(manager, departing, now) : undefined
        const events: EventDraft[] = []
        for (const one of chosen) {
          const { deletion, session, participants } = one
          const { id, uniqueSessionId, createdAt } = session
          const { events: others = [], recordingIds = [] } = ended.get(uniqueSessionId) ?? {}
          if (leaving) events.push(...eventsOf(one, [...(leaving.get(id) ?? []), ...others], now))
          const place = placeOf(session) ?? null
          closed.set(deletion, { id, uniqueSessionId, createdAt, place, participants, recordingIds })
        }
        await record(...events)
        const ids = [...closed.values()].map(({ id }) => id)
        if (ids.length > 0) await DELETE.rows(manager, ids)
        const later = new Set(endings.filter((one) => !chosen.includes(one)).map(({ deletion }) => deletion.key))
        return deletions.map((deletion) => closed.get(deletion) ?? (later.has(deletion.key) ? 'later' : 'kept'))
      },
      { after },
    )
  }

  /** The sessions that meet the conditions of their deletions, locked. One that two deletions end is the first one's. */
  async #lock(manager: Queryable, by: Key, deletions: readonly Deletion[]): Promise<Ending[]> {
    const locked = await LOCK_BY[by].rows(manager, [...new Set(deletions.map(({ key }) => key))])
    if (locked.length === 0) return []
    const present = await rows<Participant>(manager, PARTICIPANTS, [locked.map(({ id }) => id)])
    const bySession = rowsBySession(present)
    const recorded = deletions.some(({ unlessRecorded }) => unlessRecorded) ? await recordedOf(manager, locked) : []
    const endings = deletions.flatMap((deletion) => {
      const session = locked.find((row) => row[by] === deletion.key)
      if (!session || (deletion.epoch !== undefined && placeOf(session)?.epoch !== deletion.epoch)) return []
      if (deletion.unlessRecorded && recorded.includes(session.uniqueSessionId)) return []
      const found = bySession.get(session.id) ?? []
      if (!deletion.condition(found, session)) return []
      return [{ deletion, session, participants: found.filter(({ isConnecting }) => !isConnecting) }]
    })
    return firstOfEach(endings, ({ session }) => session.id)
  }
}

/** The uses of sessions whose recordings start or run. */
async function recordedOf(manager: Queryable, sessions: readonly LockedSession[]): Promise<string[]> {
  const found = await RECORDED.rows(
    manager,
    sessions.map(({ uniqueSessionId }) => uniqueSessionId),
  )
  return found.map(({ uniqueSessionId }) => uniqueSessionId)
}

/**
 * The sessions in their order, without those that would make the number of participants exceed `most`. The first is one of
 * them however many it has, unless `most` is 0.
 */
function withParticipants(endings: readonly Ending[], most: number): Ending[] {
  let left = most && Math.max(most, endings[0]?.participants.length ?? 0)
  return endings.filter(({ participants }) => {
    if (participants.length > left) return false
    left -= participants.length
    return true
  })
}

/** `before`: the events of the participants and of other features. */
const eventsOf = (
  { deletion: { reason, traceContext }, session }: Ending,
  before: readonly EventDraft[],
  now: number,
): EventDraft[] =>
  [...before, sessionDestroyed(session, reason, now, { mediaNodeId: session.nodeId })].map((event) => ({
    ...event,
    traceContext,
  }))
