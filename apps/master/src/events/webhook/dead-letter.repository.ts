import { DeadLetterView, isClusterEvent, WebhookBody } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, IsNull, Not } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { execute } from '../../platform/database/sql.js'
import { Job } from '../../platform/jobs/job.js'
import { OutboxEntity } from '../outbox.entity.js'

const MAX_DEAD_LETTERS = 1_000
/** Dead letters that one statement changes. */
const BATCH = 10_000
const PURGE_EVERY_MS = 3_600_000
const IS_OLD = `dead_at < clock_timestamp() - $1 * interval '1 day'`

/** Events that were given up. */
@Injectable()
export class DeadLetterRepository {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Job({
    name: 'dead letters',
    scope: 'leader',
    everyMs: ({ SERVICE_WEBHOOK }) => (SERVICE_WEBHOOK ? PURGE_EVERY_MS : undefined),
    isSlow: true,
  })
  async purgeOld(): Promise<void> {
    await this.purge({ olderThanDays: this.config.SERVICE_WEBHOOK_KEEP_DEAD })
  }

  /** The oldest thousand dead letters, in the order in which they were given up. */
  async oldest(): Promise<DeadLetterView[]> {
    const letters = await this.dataSource.getRepository(OutboxEntity).find({
      where: { deadAt: Not(IsNull()) },
      order: { deadAt: 'ASC', position: 'ASC' },
      take: MAX_DEAD_LETTERS,
    })
    return letters.map(({ id, name, sessionKey, createdAt, attempts, lastError, payload }) => ({
      id,
      object: 'deadLetter',
      event: name,
      ...(!isClusterEvent(name) && { uniqueSessionId: sessionKey }),
      createdAt,
      attempts,
      lastError,
      payload: WebhookBody.parse({ event: name, ...(JSON.parse(payload) as object) }),
    }))
  }

  /** Queues dead letters again at their old positions: one, or all without an id. Returns their number. */
  replay(id?: string): Promise<number> {
    return this.#inBatches(
      `UPDATE outbox SET dead_at = NULL, attempts = 0, queued_at = clock_timestamp(), next_attempt_at = clock_timestamp()`,
      { id },
    )
  }

  /** Deletes dead letters: one, all, or those older than a number of days. Returns their number. */
  purge(which: { id?: string; olderThanDays?: number } = {}): Promise<number> {
    return this.#inBatches('DELETE FROM outbox', which)
  }

  /**
   * Hand-written, because a statement for all dead letters could take longer than its time-out. An array, because Postgres
   * may look for the rows of a subquery again for each row of the table, after statistics of a queue that was filled. The
   * condition is repeated for the row itself, which Postgres checks again after it has waited for another change of it, in a
   * form that no index has: the row is found by its position.
   */
  async #inBatches(
    change: string,
    { id, olderThanDays = 0 }: { id?: string; olderThanDays?: number },
  ): Promise<number> {
    let [changed, total] = [0, 0]
    do {
      changed = await execute(
        this.dataSource,
        `${change} WHERE position = ANY(ARRAY(
           SELECT position FROM outbox WHERE ${IS_OLD} AND ($2::text IS NULL OR id = $2)
           ORDER BY dead_at, position LIMIT $3)) AND coalesce(${IS_OLD}, false)`,
        [olderThanDays, id ?? null, BATCH],
      )
      total += changed
    } while (changed === BATCH)
    return total
  }
}
