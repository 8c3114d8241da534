import type { RecordingEnded } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, In, IsNull, Not, type Repository } from 'typeorm'
import { execute } from '../../platform/database/sql.js'
import { LOST_NODE_FAILURE } from './recording-row.js'
import { RecordingPartEntity } from './recording.entity.js'

/** Reads and changes parts where the state of their recording does not change. */
@Injectable()
export class RecordingParts {
  readonly #parts: Repository<RecordingPartEntity>

  constructor(private readonly dataSource: DataSource) {
    this.#parts = dataSource.getRepository(RecordingPartEntity)
  }

  /** True when the part belongs to a recording that is not deleted. */
  exists(part: number): Promise<boolean> {
    return this.#parts.existsBy({ part, recording: { removedAt: IsNull() } })
  }

  /** The parts among these that belong to recordings that are not deleted. */
  async existing(parts: readonly number[]): Promise<Set<number>> {
    if (parts.length === 0) return new Set()
    const found = await this.#parts.findBy({ part: In(parts), recording: { removedAt: IsNull() } })
    return new Set(found.map(({ part }) => part))
  }

  /** The parts among these that media nodes have to record. */
  async toRecord(parts: readonly number[]): Promise<Set<number>> {
    if (parts.length === 0) return new Set()
    const found = await this.#parts.findBy({
      part: In(parts),
      ended: IsNull(),
      recording: { status: In(['starting', 'started']) },
    })
    return new Set(found.map(({ part }) => part))
  }

  /** The reports of the parts that have ended, in the order in which they were recorded. */
  async ended(recordingId: string): Promise<RecordingEnded[]> {
    const found = await this.#parts.find({ where: { recordingId, ended: Not(IsNull()) }, order: { part: 'ASC' } })
    return found.flatMap(({ ended }) => ended ?? [])
  }

  async markStarted(part: number, startedAt: number): Promise<void> {
    await this.#parts.update({ part }, { startedAt })
  }

  /** Deletes a part whose media node did not have the room yet, or was not reached. */
  async withdraw(part: number): Promise<void> {
    await this.#parts.delete({ part, startedAt: IsNull() })
  }

  /** Deletes lost parts whose media nodes did not come back in time: their recordings wait for them no longer. */
  async expireLost(afterS: number): Promise<void> {
    // Hand-written: it joins the recording and reads the JSON of the part.
    await execute(
      this.dataSource,
      `DELETE FROM recording_part p USING recording r WHERE r.id = p.recording_id AND r.status = 'ready'
         AND p.ended->>'failure' = $1 AND p.ended->'files' = '[]'::jsonb
         AND p.ended_at < clock_timestamp() - $2 * interval '1 second'`,
      [LOST_NODE_FAILURE, afterS],
    )
  }
}
