import { createHmac } from 'node:crypto'
import { newSecret } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { Job } from '../../jobs/job.js'
import { z } from 'zod'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../config/configuration.module.js'
import { seal, unseal } from '../../config/sealed.js'

const FORGET_EVERY_MS = 60_000
const KEPT_HOURS = 24
/** So many old calls are forgotten in one statement. */
const FORGOTTEN_AT_ONCE = 10_000
/** Older ones are under way until this master ends. */
const MOST_UNSETTLED = 10_000

const Answer = z.strictObject({ status: z.int(), type: z.string().nullable(), body: z.string() })
/** As it was sent: content type and body. */
export type Answer = z.infer<typeof Answer>

/** What to do with a call: it is `ours` to do, or another with its key is under way, was answered, or was a different one. */
export type Claim =
  { is: 'ours'; claim: string } | { is: 'underWay' | 'different' } | { is: 'answered'; answer: Answer }

/** What became of a call; without an answer nothing did, and it may be asked again. */
interface Outcome {
  key: string
  claim: string
  answer?: Answer | undefined
}

/** Calls with an `Idempotency-Key` and their answers, for a day; shared by all masters. */
@Injectable()
export class IdempotentCalls {
  private readonly digestKey: Buffer
  /** What could not be written down while the database was away. */
  private readonly unsettled = new Set<Outcome>()

  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_ID) private readonly masterId: string,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    // One of its own: callers choose what is digested, and nothing else that comes of the secret may come of that.
    this.digestKey = createHmac('sha256', config.SERVICE_SECRET).update('idempotency key').digest()
  }

  /** One of all masters gets it. What a dead one began is done anew: it is not known how far it came. */
  async claim(key: string, request: string): Promise<Claim> {
    const claim = newSecret()
    try {
      return await this.take(key, request, claim)
    } catch (error) {
      // It may have been written all the same.
      this.settleLater({ key, claim })
      throw error
    }
  }

  private async take(key: string, request: string, claim: string): Promise<Claim> {
    const digests = [this.digest(key), this.digest(request)]
    const ours = await this.dataSource.query<unknown[]>(
      `INSERT INTO idempotent_call AS c (key, request, master_id, claim) VALUES ($1, $2, $3, $4)
       ON CONFLICT (key) DO UPDATE
       SET request = excluded.request, master_id = excluded.master_id, claim = excluded.claim,
           asked_at = excluded.asked_at, answer = NULL
       WHERE c.asked_at < clock_timestamp() - $5 * interval '1 hour'
         OR (c.request = excluded.request AND c.answer IS NULL
             AND NOT EXISTS (SELECT 1 FROM master m WHERE m.id = c.master_id)) RETURNING 1`,
      [...digests, this.masterId, claim, KEPT_HOURS],
    )
    if (ours.length > 0) return { is: 'ours', claim }
    const [call] = await this.dataSource.query<{ isSame: boolean; answer: string | null }[]>(
      'SELECT request = $2 AS "isSame", answer FROM idempotent_call WHERE key = $1',
      digests,
    )
    if (call && !call.isSame) return { is: 'different' }
    const answer = call?.answer == null ? undefined : unseal(call.answer, this.config.SERVICE_SECRET)
    return answer === undefined ? { is: 'underWay' } : { is: 'answered', answer: Answer.parse(JSON.parse(answer)) }
  }

  /** Rejects when it cannot be written down now: that is tried again until it is. */
  async settle(outcome: Outcome): Promise<void> {
    try {
      await this.write(outcome)
    } catch (error) {
      this.settleLater(outcome)
      throw error
    }
  }

  /** Stores the outcomes that could not be stored before. */
  @Job({ name: 'unsettled calls', scope: 'every master', everyMs: 0 })
  async settleRest(): Promise<void> {
    for (const outcome of this.unsettled) {
      await this.write(outcome)
      this.unsettled.delete(outcome)
    }
  }

  private settleLater(outcome: Outcome): void {
    this.unsettled.add(outcome)
    const [oldest] = this.unsettled
    if (oldest && this.unsettled.size > MOST_UNSETTLED) this.unsettled.delete(oldest)
  }

  private async write({ key, claim, answer }: Outcome): Promise<void> {
    const which = [this.digest(key), claim]
    if (!answer) await this.dataSource.query('DELETE FROM idempotent_call WHERE key = $1 AND claim = $2', which)
    else
      await this.dataSource.query('UPDATE idempotent_call SET answer = $3 WHERE key = $1 AND claim = $2', [
        ...which,
        seal(JSON.stringify(answer), this.config.SERVICE_SECRET),
      ])
  }

  @Job({ name: 'old calls', scope: 'leader', everyMs: FORGET_EVERY_MS })
  async forgetOld(): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM idempotent_call WHERE key IN (
         SELECT key FROM idempotent_call WHERE asked_at < clock_timestamp() - $1 * interval '1 hour' LIMIT $2)`,
      [KEPT_HOURS, FORGOTTEN_AT_ONCE],
    )
  }

  private digest(text: string): string {
    return createHmac('sha256', this.digestKey).update(text).digest('base64url')
  }
}
