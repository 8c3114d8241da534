import { AlignedInterval } from '@session-service/server-kit'
import type { DataSource, QueryRunner } from 'typeorm'
import { execute, firstRow, type Queryable, rows } from '../database/sql.js'

/** Any number that nothing else in the database locks. */
const LEADER_LOCK = 7_230_002
/** Held by transactions that only the leader may make. */
const ACTION_LOCK = 7_230_005
/** After this much silence a master is frozen or cut off: the database ends its connection, and the lock with it. */
const LEASE_MS = 10_000
/** Checks during one lease whether it has to be renewed: with the tick of a resting cluster. */
const CHECKS = 5
/** Checks after which a lease is renewed unless a query of this master has proved it meanwhile. */
const UNPROVED_CHECKS = 1.5

/** The lease of the master that runs the jobs of the leader: an advisory lock, which ends with its database connection. */
export class LeaderLease {
  #holder: QueryRunner | undefined
  #backend = 0
  #renewal: AlignedInterval | undefined
  #lastQuery: Promise<unknown> = Promise.resolve()
  /** The start of the last query that succeeded, by `performance.now()`. */
  #provedAt = -Infinity

  constructor(
    private readonly dataSource: DataSource,
    private readonly leaseMs = LEASE_MS,
  ) {}

  /** Whether this master is the leader; it becomes the leader when no other master is. */
  async acquire(): Promise<boolean> {
    const runner = this.#holder ?? this.dataSource.createQueryRunner()
    try {
      if (this.#holder) {
        await this.#proveIfDue(runner)
        return true
      }
      const row = await firstRow<{ taken: boolean; backend: number }>(
        runner.manager,
        // A standby has locks of its own, which no other master would see.
        `SELECT NOT pg_is_in_recovery() AND pg_try_advisory_lock($1) AS taken, pg_backend_pid() AS backend`,
        [LEADER_LOCK],
      )
      if (row?.taken) await this.#hold(runner, row.backend)
      else await runner.release()
      return row?.taken === true
    } catch (error) {
      this.#forget()
      await runner.release().catch(() => undefined)
      throw error
    }
  }

  /**
   * Runs queries on the connection of the lease, which also proves that the lease exists, or on any connection when this
   * master is not the leader. A failure ends the lease: its connection may be lost.
   */
  async query<T>(run: (queryable: Queryable) => Promise<T>): Promise<T> {
    const runner = this.#holder
    if (!runner) return run(this.dataSource)
    try {
      return await this.#inTurn(() => run(runner.manager))
    } catch (error) {
      if (this.#holder === runner) await this.release()
      throw error
    }
  }

  /**
   * Rejects unless this master is the leader until the end of the transaction: a master that was frozen after `acquire`
   * may have lost the lease. The next leader waits here until the transaction has ended.
   */
  async assertHeld(queryable: Queryable): Promise<void> {
    // A master that freezes now would make the next leader wait without a limit.
    await execute(
      queryable,
      `SELECT set_config('idle_in_transaction_session_timeout', $1, true),
                                set_config('lock_timeout', $1, true)`,
      [String(this.leaseMs)],
    )
    await execute(queryable, 'SELECT pg_advisory_xact_lock($1)', [ACTION_LOCK])
    const held = await rows<{ pid: number }>(
      queryable,
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1 AND pid = $2
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [LEADER_LOCK, this.#backend],
    )
    if (held.length === 0) throw new Error('another master has become the leader')
  }

  async release(): Promise<void> {
    const holder = this.#holder
    this.#forget()
    await this.stopRenewing()
    if (!holder) return
    await execute(holder.manager, 'SELECT pg_advisory_unlock($1)', [LEADER_LOCK]).catch(() => undefined)
    await execute(holder.manager, 'RESET idle_session_timeout').catch(() => undefined)
    await holder.release().catch(() => undefined)
  }

  /** The lease then lasts until its term is over. Resolves after the last query. */
  async stopRenewing(): Promise<void> {
    this.#renewal?.stop()
    await this.#lastQuery
  }

  async #hold(runner: QueryRunner, backend: number): Promise<void> {
    await execute(runner.manager, `SELECT set_config('idle_session_timeout', $1, false)`, [String(this.leaseMs)])
    this.#holder = runner
    this.#backend = backend
    // Jobs may take longer than the lease.
    const renew = (): void => void this.#proveIfDue(runner).catch(() => undefined)
    this.#renewal = new AlignedInterval(renew, this.leaseMs / CHECKS)
  }

  #forget(): void {
    this.#renewal?.stop()
    this.#holder = undefined
    this.#backend = 0
    this.#provedAt = -Infinity
  }

  async #proveIfDue(runner: QueryRunner): Promise<void> {
    if (performance.now() - this.#provedAt < (UNPROVED_CHECKS * this.leaseMs) / CHECKS) return
    await this.#inTurn(() => execute(runner.manager, 'SELECT 1'))
  }

  /** One after another, because a connection takes one query at a time. A success proves that the lock still exists. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const answer = this.#lastQuery.then(async () => {
      const startedAt = performance.now()
      const result = await run()
      this.#provedAt = startedAt
      return result
    })
    this.#lastQuery = answer.catch(() => undefined)
    return answer
  }
}
