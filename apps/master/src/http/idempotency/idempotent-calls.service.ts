import { createHmac } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { z } from 'zod'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../configuration/configuration.module.js'
import { seal, unseal } from '../../configuration/sealed.js'

const KEPT_HOURS = 24
/** So many old calls are forgotten in one statement. */
const FORGOTTEN_AT_ONCE = 10_000

const Answer = z.strictObject({ status: z.int(), type: z.string().nullable(), body: z.string() })
/** As it was sent: content type and body. */
export type Answer = z.infer<typeof Answer>

/** What to do with a call: it is `ours` to do, or another with its key is under way, was answered, or was a different one. */
export type Claim = { is: 'ours' | 'underWay' | 'different' } | { is: 'answered'; answer: Answer }

/** Calls with an `Idempotency-Key` and their answers, for a day; shared by all masters. */
@Injectable()
export class IdempotentCalls {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_ID) private readonly masterId: string,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** One of all masters gets it. What a dead one began is done anew: it is not known how far it came. */
  async claim(key: string, request: string): Promise<Claim> {
    const digests = [this.digest(key), this.digest(request)]
    const ours = await this.dataSource.query<unknown[]>(
      `INSERT INTO idempotent_call AS c (key, request, master_id) VALUES ($1, $2, $3)
       ON CONFLICT (key) DO UPDATE
       SET request = excluded.request, master_id = excluded.master_id, asked_at = excluded.asked_at, answer = NULL
       WHERE c.asked_at < clock_timestamp() - $4 * interval '1 hour'
         OR (c.request = excluded.request AND c.answer IS NULL
             AND NOT EXISTS (SELECT 1 FROM master m WHERE m.id = c.master_id)) RETURNING 1`,
      [...digests, this.masterId, KEPT_HOURS],
    )
    if (ours.length > 0) return { is: 'ours' }
    const [call] = await this.dataSource.query<{ isSame: boolean; answer: string | null }[]>(
      'SELECT request = $2 AS "isSame", answer FROM idempotent_call WHERE key = $1',
      digests,
    )
    if (call && !call.isSame) return { is: 'different' }
    const answer = call?.answer == null ? undefined : unseal(call.answer, this.config.SERVICE_SECRET)
    return answer === undefined ? { is: 'underWay' } : { is: 'answered', answer: Answer.parse(JSON.parse(answer)) }
  }

  async answered(key: string, answer: Answer): Promise<void> {
    await this.dataSource.query('UPDATE idempotent_call SET answer = $3 WHERE key = $1 AND master_id = $2', [
      this.digest(key),
      this.masterId,
      seal(JSON.stringify(answer), this.config.SERVICE_SECRET),
    ])
  }

  /** Nothing came of it: it may be asked again. */
  async giveUp(key: string): Promise<void> {
    await this.dataSource.query('DELETE FROM idempotent_call WHERE key = $1 AND master_id = $2', [
      this.digest(key),
      this.masterId,
    ])
  }

  async forgetOld(): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM idempotent_call WHERE key IN (
         SELECT key FROM idempotent_call WHERE asked_at < clock_timestamp() - $1 * interval '1 hour' LIMIT $2)`,
      [KEPT_HOURS, FORGOTTEN_AT_ONCE],
    )
  }

  private digest(text: string): string {
    return createHmac('sha256', this.config.SERVICE_SECRET).update(text).digest('base64url')
  }
}
