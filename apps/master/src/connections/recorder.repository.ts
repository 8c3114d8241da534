import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { firstRow } from '../platform/database/sql.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import type { NewConnection } from './connection.records.js'

/** Lifetime of a recorder's token, s. */
export const RECORDER_AWAITED_S = 60

/** Inserts hidden connections for recorders. A recorder joins with its token, and is evicted when it does not. */
@Injectable()
export class RecorderRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** NOT_FOUND when there is no such session. */
  async insert({ id, sessionId, ...connection }: NewConnection): Promise<void> {
    // Hand-written: the insert locks the session's row and sets a deadline by the clock of the database.
    const inserted = await firstRow<{ id: string }>(
      this.dataSource.manager,
      `INSERT INTO connection (id, session_id, type, status, created_at, server_data, record, role, ice_servers,
                               token_nonce, token_hash, evict_at)
       SELECT $1, s.id, 'WEBRTC', 'awaited', $3, $4, false, $5, $6, $7, decode($8, 'hex'),
              clock_timestamp() + $9 * interval '1 second'
       FROM session s WHERE s.id = $2 FOR KEY SHARE RETURNING id`,
      [
        id,
        sessionId,
        connection.createdAt,
        connection.serverData,
        connection.role,
        JSON.stringify(connection.iceServers),
        connection.tokenNonce,
        connection.tokenHash,
        RECORDER_AWAITED_S,
      ],
    )
    if (inserted) return
    throw noSuchSession(sessionId)
  }
}
