import { createHmac } from 'node:crypto'
import { newSecret } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { Job, type JobRun } from '../../jobs/job.js'
import { z } from 'zod'
import { execute, firstRow, rows } from '../../database/sql.js'
import { signingSecrets } from '../../authentication/signing-secrets.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../config/configuration.module.js'
import { seal, unseal } from '../../config/sealed.js'
import { IdempotentCallEntity } from './idempotent-call.entity.js'

const PURGE_EVERY_MS = 60_000
const KEPT_HOURS = 24
/** Old calls deleted in one statement. */
const PURGE_BATCH = 10_000
/** Beyond this number the oldest outcomes are dropped: their calls stay in progress until this master ends. */
const MAX_UNSTORED = 10_000

const Answer = z.strictObject({ status: z.int(), type: z.string().nullable(), body: z.string() })
/** An answer as it was sent; `type` is its content type. */
export type Answer = z.infer<typeof Answer>

/**
 * The result of a claim: `claimed` by this request, which has to carry the call out; or another request with the key is
 * in progress, was answered, or was a different one.
 */
type Claim =
  { state: 'claimed'; claim: string } | { state: 'inProgress' | 'different' } | { state: 'answered'; answer: Answer }

/** The outcome of a call; without an answer it had no effect, and may be retried. */
interface Outcome {
  key: string
  claim: string
  answer?: Answer | undefined
}

/** Calls with an `Idempotency-Key` and their answers, for a day; shared by all masters. */
@Injectable()
export class IdempotentCalls {
  readonly #digestKey: Buffer
  /** The keys of masters that sign with the other secret during a rotation. */
  readonly #otherDigestKeys: readonly Buffer[]
  /** Outcomes that could not be stored because the database was unreachable. */
  readonly #unstored = new Set<Outcome>()

  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_ID) private readonly masterId: string,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    // A separate key, because callers choose the text: the digest must not equal another value derived from the secret.
    const [digestKey, ...others] = signingSecrets(config).map((secret) =>
      createHmac('sha256', secret).update('idempotency key').digest(),
    )
    this.#digestKey = digestKey ?? Buffer.alloc(0)
    this.#otherDigestKeys = others
  }

  /**
   * Claims a call for one request over all masters. A call of a master that died is carried out again, because it is
   * unknown how far it came.
   */
  async claim(key: string, request: string): Promise<Claim> {
    const elsewhere = await this.#claimedWithOtherSecret(key, request)
    if (elsewhere) return elsewhere
    const claim = newSecret()
    try {
      return await this.#insertClaim(key, request, claim)
    } catch (error) {
      // The claim may have been stored although the statement failed.
      this.#storeLater({ key, claim })
      throw error
    }
  }

  /** The state of a call of a master that signs with the other secret during a rotation. */
  async #claimedWithOtherSecret(key: string, request: string): Promise<Claim | undefined> {
    for (const digestKey of this.#otherDigestKeys) {
      const call = await firstRow<Pick<IdempotentCallEntity, 'request' | 'answer'>>(
        this.dataSource,
        `SELECT request, answer FROM idempotent_call c
         WHERE key = $1 AND asked_at >= clock_timestamp() - $2 * interval '1 hour'
           AND (answer IS NOT NULL OR EXISTS (SELECT 1 FROM master m WHERE m.id = c.master_id))`,
        [digest(digestKey, key), KEPT_HOURS],
      )
      if (call) return this.#stateOf(call, digest(digestKey, request))
    }
    return undefined
  }

  #stateOf(call: Pick<IdempotentCallEntity, 'request' | 'answer'> | null, requestDigest: string): Claim {
    if (call && call.request !== requestDigest) return { state: 'different' }
    const answer = call?.answer == null ? undefined : unseal(call.answer, signingSecrets(this.config))
    return answer === undefined
      ? { state: 'inProgress' }
      : { state: 'answered', answer: Answer.parse(JSON.parse(answer)) }
  }

  async #insertClaim(key: string, request: string, claim: string): Promise<Claim> {
    const [keyDigest, requestDigest] = [this.#digest(key), this.#digest(request)]
    // One statement decides between masters that get the same key at the same moment.
    const claimed = await rows<Pick<IdempotentCallEntity, 'key'>>(
      this.dataSource,
      `INSERT INTO idempotent_call AS c (key, request, master_id, claim) VALUES ($1, $2, $3, $4)
       ON CONFLICT (key) DO UPDATE
       SET request = excluded.request, master_id = excluded.master_id, claim = excluded.claim,
           asked_at = excluded.asked_at, answer = NULL
       WHERE c.asked_at < clock_timestamp() - $5 * interval '1 hour'
         OR (c.request = excluded.request AND c.answer IS NULL
             AND NOT EXISTS (SELECT 1 FROM master m WHERE m.id = c.master_id)) RETURNING c.key`,
      [keyDigest, requestDigest, this.masterId, claim, KEPT_HOURS],
    )
    if (claimed.length > 0) return { state: 'claimed', claim }
    const call = await this.dataSource.getRepository(IdempotentCallEntity).findOneBy({ key: keyDigest })
    return this.#stateOf(call, requestDigest)
  }

  /** Stores the outcome. Rejects when that fails; it is retried in the background. */
  async store(outcome: Outcome): Promise<void> {
    try {
      await this.#write(outcome)
    } catch (error) {
      this.#storeLater(outcome)
      throw error
    }
  }

  /** Retries storing the outcomes that could not be stored. */
  @Job({ name: 'unsettled calls', scope: 'every master', everyMs: 0 })
  async retryUnstored(): Promise<void> {
    for (const outcome of this.#unstored) {
      await this.#write(outcome)
      this.#unstored.delete(outcome)
    }
  }

  #storeLater(outcome: Outcome): void {
    this.#unstored.add(outcome)
    const [oldest] = this.#unstored
    if (oldest && this.#unstored.size > MAX_UNSTORED) this.#unstored.delete(oldest)
  }

  /** Hand-written: it is part of each POST with a key, and the query builder doubles its processor time. */
  async #write({ key, claim, answer }: Outcome): Promise<void> {
    const values = [this.#digest(key), claim]
    if (!answer) await execute(this.dataSource, 'DELETE FROM idempotent_call WHERE key = $1 AND claim = $2', values)
    else
      await execute(this.dataSource, 'UPDATE idempotent_call SET answer = $3 WHERE key = $1 AND claim = $2', [
        ...values,
        seal(JSON.stringify(answer), this.config.SERVICE_SECRET),
      ])
  }

  @Job({ name: 'old calls', scope: 'leader', everyMs: PURGE_EVERY_MS, isSlow: true })
  async purgeOld({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    // Bounded, so that one statement never runs for long: a DELETE has no LIMIT of its own. An array, because Postgres may
    // look for the rows of a subquery again for each row of the table.
    const purge = (): Promise<number> =>
      execute(
        this.dataSource,
        `DELETE FROM idempotent_call WHERE key = ANY(ARRAY(
           SELECT key FROM idempotent_call WHERE asked_at < clock_timestamp() - $1 * interval '1 hour'
           ORDER BY asked_at LIMIT $2))`,
        [KEPT_HOURS, PURGE_BATCH],
      )
    while (!isStopping() && (await purge()) === PURGE_BATCH);
  }

  #digest(text: string): string {
    return digest(this.#digestKey, text)
  }
}

const digest = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64url')
