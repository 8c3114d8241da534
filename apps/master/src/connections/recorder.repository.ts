import { ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import type { NewConnection } from './connection.records.js'

/** How long a recorder's token is good for. */
export const RECORDER_AWAITED_S = 60

/** Recorders to come, whom nobody sees: with their tokens they join as others do, those that stay away are evicted. */
@Injectable()
export class RecorderRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** NOT_FOUND when there is no such session. */
  async insert({ id, sessionId, ...connection }: NewConnection): Promise<void> {
    const rows = await this.dataSource.query<unknown[]>(
      `INSERT INTO connection (id, session_id, type, status, created_at, server_data, record, role, ice_servers,
                               token_nonce, token_hash, evict_at)
       SELECT $1, s.id, 'WEBRTC', 'awaited', $3, $4, false, $5, $6, $7, decode($8, 'hex'),
              clock_timestamp() + $9 * interval '1 second'
       FROM session s WHERE s.id = $2 FOR KEY SHARE RETURNING 1`,
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
    if (rows.length > 0) return
    throw new ServiceError('NOT_FOUND', `no session with the id ${sessionId}`, { subject: 'session' })
  }
}
