import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'

/** Which participants have a socket, at which master, and until when those without one may come back. */
@Injectable()
export class PresenceRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** The participant's socket is gone: it is evicted in `ms` unless it resumes. */
  async markLost(connectionId: string, masterId: string, ms: number, lastSignalId?: number): Promise<void> {
    await this.dataSource.query(
      `UPDATE connection SET evict_at = clock_timestamp() + $3 * interval '1 millisecond',
              last_signal_id = coalesce($4, last_signal_id)
       WHERE id = $1 AND master_id = $2 AND status IN ('active', 'hidden')`,
      [connectionId, masterId, ms, lastSignalId ?? null],
    )
  }

  async markFound(connectionId: string, masterId: string): Promise<void> {
    await this.dataSource.query('UPDATE connection SET evict_at = NULL WHERE id = $1 AND master_id = $2', [
      connectionId,
      masterId,
    ])
  }

  async overdue(): Promise<string[]> {
    const rows = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM connection WHERE evict_at < clock_timestamp() ORDER BY evict_at LIMIT 1000`,
    )
    return rows.map(({ id }) => id)
  }

  /** Of these participants, those that no longer are ones of `masterId`. */
  async orphans(connectionIds: string[], masterId: string): Promise<string[]> {
    const rows = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM connection WHERE id = ANY($1) AND status IN ('active', 'hidden') AND master_id = $2`,
      [connectionIds, masterId],
    )
    return without(connectionIds, rows)
  }

  /** Of these participants, those that are none any more. */
  async gone(connectionIds: string[]): Promise<string[]> {
    if (connectionIds.length === 0) return []
    const rows = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM connection WHERE id = ANY($1) AND status IN ('active', 'hidden')`,
      [connectionIds],
    )
    return without(connectionIds, rows)
  }

  /**
   * Participants whose sockets went with their master get the usual time to come back. Later deadlines are of before the
   * clock of the database was set back.
   */
  async markLostOfDeadMasters(ms: number): Promise<void> {
    await this.dataSource.query(
      `UPDATE connection SET evict_at = clock_timestamp() + $1 * interval '1 millisecond',
              last_signal_id = CASE WHEN evict_at IS NOT NULL THEN last_signal_id END
       WHERE master_id IS NOT NULL AND status IN ('active', 'hidden')
         AND (evict_at IS NULL OR evict_at > clock_timestamp() + $1 * interval '1 millisecond')
         AND NOT EXISTS (SELECT 1 FROM master m WHERE m.id = connection.master_id)`,
      [ms],
    )
  }

  /**
   * Brings deadlines in line with the sockets of a master, whatever could not be written when they came or went:
   * who has none of those it holds gets `ms` to come back, who speaks on one has no deadline. Later deadlines are of
   * before the clock of the database was set back.
   */
  async alignDeadlines(masterId: string, held: string[], speaking: string[], ms: number): Promise<void> {
    await this.dataSource.query(
      `UPDATE connection SET evict_at = clock_timestamp() + $3 * interval '1 millisecond',
              last_signal_id = CASE WHEN evict_at IS NOT NULL THEN last_signal_id END
       WHERE master_id = $1 AND status IN ('active', 'hidden') AND id <> ALL($2)
         AND (evict_at IS NULL OR evict_at > clock_timestamp() + $3 * interval '1 millisecond')`,
      [masterId, held, ms],
    )
    await this.dataSource.query(
      'UPDATE connection SET evict_at = NULL WHERE master_id = $1 AND evict_at IS NOT NULL AND id = ANY($2)',
      [masterId, speaking],
    )
  }
}

function without(ids: string[], rows: { id: string }[]): string[] {
  const known = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}
