import type { ConnectionInfo, Role } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { GroupRead, rowsBySession } from '../platform/database/group-read.js'
import { KeyedStatement, withLockedRows } from '../platform/database/keyed-statement.js'
import { prepared } from '../platform/database/prepared-statements.js'
import { firstRow, type Queryable, rows } from '../platform/database/sql.js'
import { cameraMembers } from './camera.js'
import { ConnectionEntity } from './connection.entity.js'
import type { Rights, SignalRecipients } from './connection.records.js'

const RECIPIENTS = prepared(`
  SELECT s.unique_id AS "roomId",
         EXISTS (SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active') AS "hasParticipants",
         ARRAY(SELECT c.id FROM connection c
               WHERE c.session_id = s.id AND c.status = 'active' AND c.id = ANY($2)) AS present
  FROM session s WHERE s.id = $1`)

const RIGHTS = new KeyedStatement<Rights & { id: string }>(
  (is, ofLocked) => `SELECT id, role, record FROM connection WHERE id ${is} FOR SHARE ${ofLocked}`,
)
const PRESENT = new KeyedStatement<PresentRow>(
  (is) => `SELECT session_id AS "sessionId", id AS "connectionId", active_at AS "createdAt",
      CASE type WHEN 'WEBRTC' THEN role END AS role, coalesce(client_data, '') AS "clientData",
      server_data AS "serverData", camera_state AS "cameraState", (network_quality->>'level')::integer AS level
    FROM connection WHERE session_id ${is} AND status = 'active' ORDER BY active_at, id`,
)
const NUMBERS = new KeyedStatement<{ sessionId: string; number: number }>(
  (is) => `SELECT session_id AS "sessionId", count(*) AS number FROM connection
    WHERE session_id ${is} AND status = 'active' AND type = 'WEBRTC' GROUP BY session_id`,
)

const CLIENTS = new KeyedStatement<{ sessionId: string; ids: string[] }>(
  (is) => `SELECT session_id AS "sessionId", array_agg(id ORDER BY active_at, id) AS ids FROM connection
    WHERE session_id ${is} AND status = 'active' AND type = 'WEBRTC' GROUP BY session_id`,
)

/** Reads participants. Hand-written: the statements are on the path of every join. */
@Injectable()
export class ParticipantRepository {
  readonly #rights = new GroupRead<string, Rights>((ids) => this.#rightsOf(ids))
  readonly #present = new GroupRead<string, ConnectionInfo[]>((sessionIds) => this.#presentIn(sessionIds))
  readonly #numbers = new GroupRead<string, number>((sessionIds) => this.#countIn(sessionIds))

  constructor(private readonly dataSource: DataSource) {}

  /** Reads the rights under a share lock, which waits for a change in progress, so that a subscriber misses none. */
  rights(id: string): Promise<Rights | undefined> {
    return this.#rights.get(id)
  }

  #rightsOf(ids: readonly string[]): Promise<Map<string, Rights | Error>> {
    return withLockedRows(ids, async (some) => {
      const found = await RIGHTS.rows(this.dataSource.manager, some)
      return new Map(found.map(({ id, ...rights }) => [id, rights]))
    })
  }

  /** Reads the role without a lock, and so misses a change that is not committed. */
  async role(id: string): Promise<Role | undefined> {
    const row = await firstRow<{ role: Role }>(this.dataSource.manager, 'SELECT role FROM connection WHERE id = $1', [
      id,
    ])
    return row?.role
  }

  /** The participants among the given ids, cameras included; undefined when there is no such session. */
  recipients(sessionId: string, among: string[]): Promise<SignalRecipients | undefined> {
    return firstRow<SignalRecipients>(this.dataSource.manager, RECIPIENTS, [sessionId, among])
  }

  /** The participants of a session as its clients see them, in the order they joined. */
  async present(sessionId: string): Promise<ConnectionInfo[]> {
    return (await this.#present.get(sessionId)) ?? []
  }

  async #presentIn(sessionIds: string[]): Promise<Map<string, ConnectionInfo[]>> {
    const present = await PRESENT.rows(this.dataSource.manager, sessionIds)
    const bySession = [...rowsBySession(present)]
    return new Map(bySession.map(([sessionId, members]) => [sessionId, members.map(connectionInfo)]))
  }

  /** Number of participants with a client. */
  async countActive(sessionId: string): Promise<number> {
    return (await this.#numbers.get(sessionId)) ?? 0
  }

  async #countIn(sessionIds: string[]): Promise<Map<string, number>> {
    const counted = await NUMBERS.rows(this.dataSource.manager, sessionIds)
    return new Map(counted.map(({ sessionId, number }) => [sessionId, number]))
  }

  /** The ids of the participants with a client of each of the sessions, in the order they joined. */
  async clients(queryable: Queryable, sessionIds: string[]): Promise<Map<string, string[]>> {
    if (sessionIds.length === 0) return new Map()
    const found = await CLIENTS.rows(queryable, sessionIds)
    return new Map(found.map(({ sessionId, ids }) => [sessionId, ids]))
  }

  async activeAmong(sessionId: string, connectionIds: string[]): Promise<Set<string>> {
    const active = await rows<{ id: string }>(
      this.dataSource.manager,
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND id = ANY($2)`,
      [sessionId, connectionIds],
    )
    return new Set(active.map(({ id }) => id))
  }
}

type PresentRow = ConnectionInfo & Pick<ConnectionEntity, 'sessionId' | 'cameraState'> & { level: number | null }

const connectionInfo = ({ cameraState, level, ...connection }: Omit<PresentRow, 'sessionId'>): ConnectionInfo => ({
  ...connection,
  ...cameraMembers(cameraState),
  ...(level !== null && { networkQuality: level }),
})
