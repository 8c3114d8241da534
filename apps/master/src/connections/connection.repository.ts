import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { GroupRead } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { prepared } from '../platform/database/prepared-statements.js'
import { firstRow, rows } from '../platform/database/sql.js'
import { BEFORE_ALL, PAGE_ROWS, type Position } from '../platform/http/answers/streamed-list.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import type { ChangedRights, NewConnection, Rights } from './connection.records.js'
import { CONNECTION_ROW, type ConnectionRow } from './connection.view.js'

// Looks each session up by itself: with all ids at once, a plan that was made for few sessions would read all of them.
// Locks them in the order of ids, as every statement that locks several sessions: no two meet a deadlock.
const INSERT_CONNECTIONS = prepared(`
  INSERT INTO connection (id, session_id, type, status, created_at, server_data, record, role,
                          mediaserver_options, ice_servers, token_nonce, token_hash, trace_context)
  SELECT r.id, r."sessionId", 'WEBRTC', 'pending', r."createdAt", r."serverData", r.record, r.role,
         nullif(r."mediaserverOptions", 'null'), r."iceServers", r."tokenNonce", decode(r."tokenHash", 'hex'),
         r."traceContext"
  FROM (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(id text, "sessionId" text, "createdAt" bigint,
          "serverData" text, record boolean, role text, "mediaserverOptions" jsonb, "iceServers" jsonb,
          "tokenNonce" text, "tokenHash" text, "traceContext" text) ORDER BY r."sessionId") r
    CROSS JOIN LATERAL (SELECT 1 FROM session WHERE session.id = r."sessionId" FOR KEY SHARE) s
  RETURNING id`)

const FIND = new KeyedStatement<ConnectionRow>(
  (is) => `SELECT ${CONNECTION_ROW} FROM connection c WHERE c.id ${is} AND c.status IN ('pending', 'active')`,
)
const PAGE = `
  SELECT ${CONNECTION_ROW} FROM connection c
  WHERE c.session_id = $1 AND (c.status = 'active' OR $2 AND c.status = 'pending') AND (c.created_at, c.id) > ($3, $4)
  ORDER BY c.created_at, c.id LIMIT ${PAGE_ROWS}`

const CHANGE_RIGHTS = prepared(`
  WITH former AS (SELECT id, role, record FROM connection
                  WHERE id = $1 AND session_id = $2 AND status IN ('pending', 'active') FOR UPDATE)
  UPDATE connection c SET role = coalesce($3, c.role), record = coalesce($4, c.record)
  FROM former, session s WHERE c.id = $1 AND c.id = former.id AND s.id = $2 AND s.id = c.session_id
  RETURNING ${CONNECTION_ROW}, s.unique_id AS "roomId", s.media_node_id AS "nodeId",
            json_build_object('role', former.role, 'record', former.record) AS former`)

/** Reads and writes of connections for the REST API. */
@Injectable()
export class ConnectionRepository {
  readonly #creations: GroupCommit<NewConnection, true>
  readonly #found = new GroupRead<string, ConnectionRow>(async (ids) => {
    const found = await FIND.rows(this.dataSource.manager, ids)
    return new Map(found.map((connection) => [connection.id, connection]))
  })

  constructor(private readonly dataSource: DataSource) {
    this.#creations = new GroupCommit('connection', (connections) => this.#insertAll(connections), isLockingBatchFault)
  }

  /** NOT_FOUND when there is no such session. */
  insert(connection: NewConnection): Promise<true> {
    return this.#creations.add(connection)
  }

  async #insertAll(connections: NewConnection[]): Promise<(true | Error)[]> {
    // Hand-written: a group commit inserts all connections in one statement.
    const inserted = await rows<{ id: string }>(this.dataSource.manager, INSERT_CONNECTIONS, [
      JSON.stringify(connections),
    ])
    const ids = new Set(inserted.map(({ id }) => id))
    return connections.map(({ id, sessionId }) => (ids.has(id) ? true : noSuchSession(sessionId)))
  }

  async find(sessionId: string, id: string): Promise<ConnectionRow | undefined> {
    const found = await this.#found.get(id)
    return found?.sessionId === sessionId ? found : undefined
  }

  page(sessionId: string, withPending: boolean, after: Position = BEFORE_ALL): Promise<ConnectionRow[]> {
    return rows<ConnectionRow>(this.dataSource.manager, PAGE, [sessionId, withPending, after.createdAt, after.id])
  }

  /**
   * Changes the given properties. `announce` runs before the commit, under the row's lock, so that of two concurrent
   * changes the one announced last is the one that is stored. Undefined when there is no such connection.
   */
  change(
    sessionId: string,
    id: string,
    changes: Partial<Rights>,
    announce: (changed: ChangedRights) => Promise<void>,
  ): Promise<ConnectionRow | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const values = [id, sessionId, changes.role ?? null, changes.record ?? null]
      const changed = await firstRow<ConnectionRow & ChangedRights>(manager, CHANGE_RIGHTS, values)
      if (changed) await announce(changed)
      return changed
    })
  }
}
