import type { DataSource, EntityManager, QueryRunner } from 'typeorm'

/** Any number that nothing else in the database locks. */
const DUTY_LOCK = 7_230_002
/** Of transactions that only the one who has the duties may make. */
const ACTION_LOCK = 7_230_005
/** A master that is not heard for this long is frozen or cut off: the database ends its connection, and the lock with it. */
const LEASE_MS = 10_000
/** In the time of a lease. */
const RENEWALS = 4

/** The advisory lock of the duties that one master does for all; it goes with the database connection that holds it. */
export class DutyLock {
  private holder: QueryRunner | undefined
  private backend = 0
  private renewal: NodeJS.Timeout | undefined
  private asked: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly dataSource: DataSource,
    private readonly leaseMs = LEASE_MS,
  ) {}

  /** Whether this master has the duties now; takes them when nobody has. */
  async isOurs(): Promise<boolean> {
    const runner = this.holder ?? this.dataSource.createQueryRunner()
    try {
      if (this.holder) {
        // Proves that the connection, and so the lock, still stands.
        await this.touch(runner)
        return true
      }
      const [row] = await runner.manager.query<{ taken: boolean; backend: number }[]>(
        'SELECT pg_try_advisory_lock($1) AS taken, pg_backend_pid() AS backend',
        [DUTY_LOCK],
      )
      if (row?.taken) await this.hold(runner, row.backend)
      else await runner.release()
      return row?.taken === true
    } catch (error) {
      this.forget()
      await runner.release().catch(() => undefined)
      throw error
    }
  }

  /**
   * Rejects unless this master has the duties, for the rest of the transaction: one that was frozen since it asked may
   * have lost them to another. Who takes them next waits here until this transaction has ended.
   */
  async assertOurs(manager: Pick<EntityManager, 'query'>): Promise<void> {
    // Frozen now, it would keep the next one waiting for as long.
    await manager.query(
      `SELECT set_config('idle_in_transaction_session_timeout', $1, true),
                                set_config('lock_timeout', $1, true)`,
      [String(this.leaseMs)],
    )
    await manager.query('SELECT pg_advisory_xact_lock($1)', [ACTION_LOCK])
    const held = await manager.query<unknown[]>(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1 AND pid = $2
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [DUTY_LOCK, this.backend],
    )
    if (held.length === 0) throw new Error('another master has taken over the duties')
  }

  async giveUp(): Promise<void> {
    const { holder } = this
    this.forget()
    await this.asked
    if (!holder) return
    await holder.query('SELECT pg_advisory_unlock($1)', [DUTY_LOCK]).catch(() => undefined)
    await holder.query('RESET idle_session_timeout').catch(() => undefined)
    await holder.release().catch(() => undefined)
  }

  private async hold(runner: QueryRunner, backend: number): Promise<void> {
    await runner.query(`SELECT set_config('idle_session_timeout', $1, false)`, [String(this.leaseMs)])
    this.holder = runner
    this.backend = backend
    // Duties may take longer than the lease.
    this.renewal = setInterval(() => void this.touch(runner).catch(() => undefined), this.leaseMs / RENEWALS)
  }

  private forget(): void {
    clearInterval(this.renewal)
    this.holder = undefined
    this.backend = 0
  }

  /** One after the other: a connection takes one query at a time. */
  private touch(runner: QueryRunner): Promise<unknown> {
    const answer = this.asked.then(() => runner.query('SELECT 1'))
    this.asked = answer.catch(() => undefined)
    return answer
  }
}
