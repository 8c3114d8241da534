import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_ID } from '../../platform/config/configuration.module.js'
import { execute, firstRow } from '../../platform/database/sql.js'
import { RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'

/** A claim ends when its master has not renewed it for this long, s. */
const CLAIM_S = 30

/**
 * Claims of masters to finalize a recording, and the delays until the next attempt. Hand-written statements: all of
 * them compare and set times by the database's clock.
 */
@Injectable()
export class RecordingClaims {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /** Claims a stopped recording for this master; undefined while parts are open or another master has the claim. */
  claim(id: string): Promise<RecordingRow | undefined> {
    return firstRow<RecordingRow>(
      this.dataSource,
      `UPDATE recording r SET claimed_by = $2, claimed_until = clock_timestamp() + $3 * interval '1 second'
       WHERE r.id = $1 AND r.status = 'stopped' AND r.removed_at IS NULL
         AND coalesce(r.claimed_until < clock_timestamp(), true)
         AND NOT EXISTS (SELECT 1 FROM recording_part p WHERE p.recording_id = r.id AND p.ended IS NULL)
       RETURNING ${RECORDING_COLUMNS}`,
      [id, this.masterId, CLAIM_S],
    )
  }

  /** False when the recording was deleted, or another master has the claim. */
  async renew(id: string): Promise<boolean> {
    const count = await execute(
      this.dataSource,
      `UPDATE recording SET claimed_until = clock_timestamp() + $3 * interval '1 second'
       WHERE id = $1 AND claimed_by = $2 AND status = 'stopped'`,
      [id, this.masterId, CLAIM_S],
    )
    return count > 0
  }

  /** Gives the claim up and delays the next attempt by `seconds`. `isCounted`: it counts as a failed attempt. */
  async retryLater(id: string, { seconds, isCounted }: { seconds: number; isCounted: boolean }): Promise<void> {
    await execute(
      this.dataSource,
      `UPDATE recording SET claimed_by = NULL, claimed_until = clock_timestamp() + $3 * interval '1 second',
              attempts = attempts + $4::integer WHERE id = $1 AND claimed_by = $2`,
      [id, this.masterId, seconds, isCounted ? 1 : 0],
    )
  }

  /** Delays the next attempt to remove the files of a deleted recording by `seconds`. */
  async removeLater(id: string, seconds: number): Promise<void> {
    await execute(
      this.dataSource,
      `UPDATE recording SET claimed_until = clock_timestamp() + $2 * interval '1 second'
       WHERE id = $1 AND removed_at IS NOT NULL`,
      [id, seconds],
    )
  }

  /** Deletes the row of a deleted recording, unless a master may still make a file of it: then a later removal does. */
  async deleteRemoved(id: string): Promise<void> {
    await execute(
      this.dataSource,
      `DELETE FROM recording WHERE id = $1 AND removed_at IS NOT NULL
         AND coalesce(claimed_until < clock_timestamp(), true)`,
      [id],
    )
  }
}
