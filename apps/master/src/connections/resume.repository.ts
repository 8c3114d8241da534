import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { isBatchFault } from '../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../platform/database/group-commit.js'
import { KeyedStatement, withLockedRows } from '../platform/database/keyed-statement.js'
import type { Participant } from './connection.records.js'
import { PARTICIPANT } from './participant-columns.js'

/** Participants that one transaction moves at most: it holds the locks of their rows. */
const MOST_RESUMED = 100

interface Resumption {
  connectionId: string
  resumeHash: Buffer
  masterId: string
}

/** `lastSignalId`: the newest signal that the former master sent, when it noticed the loss of the socket. */
type ResumedParticipant = Participant & { lastSignalId: number | null; formerMasterId: string | null }

const RESUME = new KeyedStatement<ResumedParticipant & { index: number }>(
  (isConnection, ofLocked) => `
  WITH resumed AS (
    SELECT c.id, r.nth, r.master_id, c.master_id AS former_master_id,
           CASE WHEN c.evict_at IS NOT NULL THEN c.last_signal_id END AS last_signal_id
    FROM connection c,
         unnest($1::text[], $2::bytea[], $3::text[]) WITH ORDINALITY AS r(id, resume_hash, master_id, nth)
    WHERE c.id ${isConnection} AND c.id = r.id AND c.resume_hash = r.resume_hash AND c.status IN ('active', 'hidden')
    FOR NO KEY UPDATE OF c ${ofLocked})
  UPDATE connection c SET master_id = r.master_id, evict_at = NULL
  FROM resumed r, session s WHERE c.id ${isConnection} AND c.id = r.id AND s.id = c.session_id
  RETURNING r.nth::integer - 1 AS index, ${PARTICIPANT}, r.last_signal_id AS "lastSignalId",
            r.former_master_id AS "formerMasterId"`,
)

/**
 * Moves participants to other sockets. Hand-written: after the failure of a master or a proxy, all of its clients resume
 * at the same time, and one statement moves many of them.
 */
@Injectable()
export class ResumeRepository {
  readonly #resumptions: GroupCommit<Resumption, ResumedParticipant | 'invalid'>

  constructor(private readonly dataSource: DataSource) {
    this.#resumptions = new GroupCommit('resume', (items) => this.#resumeAll(items), isBatchFault, MOST_RESUMED)
  }

  /** Moves a participant to a socket of `masterId`. Undefined when it was removed or the resume key is wrong. */
  async resume(connectionId: string, resumeHash: Buffer, masterId: string): Promise<ResumedParticipant | undefined> {
    const resumed = await this.#resumptions.add({ connectionId, resumeHash, masterId })
    return resumed === 'invalid' ? undefined : resumed
  }

  async #resumeAll(items: readonly Resumption[]): Promise<(ResumedParticipant | 'invalid' | Error)[]> {
    const asked = firstOfEach(items, keyOf)
    const resumed = await withLockedRows(asked, (some) => this.#resume(some))
    const byKey = new Map([...resumed].map(([item, participant]) => [keyOf(item), participant]))
    return items.map((item) => byKey.get(keyOf(item)) ?? 'invalid')
  }

  async #resume(items: readonly Resumption[]): Promise<Map<Resumption, ResumedParticipant>> {
    const resumed = await RESUME.rows(
      this.dataSource.manager,
      items.map(({ connectionId }) => connectionId),
      items.map(({ resumeHash }) => resumeHash),
      items.map(({ masterId }) => masterId),
    )
    return new Map(
      resumed.flatMap(({ index, ...participant }) => {
        const item = items[index]
        return item ? [[item, participant] as const] : []
      }),
    )
  }
}

/** Two sockets may resume the same participant, and others may guess its key. */
const keyOf = ({ connectionId, resumeHash }: Resumption): string => `${connectionId} ${resumeHash.toString('hex')}`
