import { MasterDead, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, Not } from 'typeorm'
import { execute, rows } from '../platform/database/sql.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterMembership, type Renewal } from '../platform/jobs/cluster-membership.js'
import { MasterEntity } from './master.entity.js'
import { MediaNodesService } from './media-nodes.service.js'

/** A master that did not renew its row for this long is dead, s. */
export const MASTER_SILENT_SECONDS = 5

/** A time in the future was written before the clock of the database was set back: that master counts as dead too. */
const IS_DEAD = `alive_at NOT BETWEEN clock_timestamp() - ${MASTER_SILENT_SECONDS} * interval '1 second'
                               AND clock_timestamp() + ${MASTER_SILENT_SECONDS} * interval '1 second'`
export const DEAD_MASTERS = `SELECT 1 FROM master WHERE ${IS_DEAD}`
/** Live masters that receive heartbeats of media nodes over the bus. */
export const SERVING_MASTERS = `SELECT id FROM master WHERE nodes_heard > 0 AND NOT (${IS_DEAD})`

/** A time of a heartbeat that was written less than this long ago is not written again, unless the interval changes, ms. */
const SAVE_INTERVAL_MS = 500
/** A difference that large means that the clock of the database was set back, ms. */
const SET_BACK_MS = 30_000

/**
 * Writes the row of the master ($1 id, $2 address, $3 number of nodes, $7 generation or null) and, in the rows of the nodes ($4 ids, $5 boots), the
 * times of the last heartbeats ($6, UTC ms) with the intervals that they announced ($8, ms). Skips locked rows: their owner knows.
 */
const RENEWAL = `heard AS (
    UPDATE media_node m SET heard_at = d.at, heartbeat_interval = d.every_ms FROM (
      SELECT n.id, r.at, r.every_ms FROM media_node n
        JOIN unnest($4::text[], $5::text[], $6::bigint[], $8::integer[]) AS r(id, boot_id, at, every_ms)
        ON r.id = n.id AND r.boot_id = n.boot_id
        AND (r.at > n.heard_at + CASE r.every_ms WHEN n.heartbeat_interval THEN ${SAVE_INTERVAL_MS} ELSE 0 END
             OR r.at < n.heard_at - ${SET_BACK_MS})
      FOR NO KEY UPDATE OF n SKIP LOCKED) d WHERE m.id = d.id),
  renewed AS (
    INSERT INTO master (id, alive_at, uri, nodes_heard, generation) VALUES ($1, clock_timestamp(), $2, $3, $7)
    ON CONFLICT (id) DO UPDATE SET alive_at = excluded.alive_at, nodes_heard = excluded.nodes_heard,
                                   generation = coalesce(excluded.generation, master.generation)
    RETURNING (SELECT coalesce(max(nodes_heard), 0) FROM master WHERE id <> $1) AS most)`

/** The rows of live masters, and whether this master is on the majority side of a split bus. */
@Injectable()
export class MasterMembership extends ClusterMembership {
  readonly renewal = RENEWAL
  #isInMinority = false
  /** The last renewal that succeeded, by `performance.now()`. */
  #renewedAt = -Infinity
  /** The restart whose configuration this master serves; null before it serves. */
  #generation: number | null = null

  constructor(
    private readonly dataSource: DataSource,
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    super()
  }

  get hasQuorum(): boolean {
    return !this.#isInMinority
  }

  /** Whether this master has renewed its row since `at`, by `performance.now()`. */
  hasRenewedSince(at: number): boolean {
    return this.#renewedAt > at
  }

  /** From now on the row contains the generation, also when it was removed and is written again. */
  serves(generation: number): void {
    this.#generation = generation
  }

  get isResting(): boolean {
    return this.mediaNodes.areResting
  }

  report(): Renewal {
    const { connected } = this.bus
    const alive = connected ? this.mediaNodes.aliveHere.length : 0
    const last = this.mediaNodes.lastHeartbeats()
    return {
      values: [
        this.masterId,
        this.config.SERVICE_PUBLICURL,
        alive,
        last.map(({ nodeId }) => nodeId),
        last.map(({ bootId }) => bootId),
        last.map(({ at }) => at),
        this.#generation,
        last.map(({ everyMs }) => everyMs),
      ],
      done: (renewed) => {
        this.#renewedAt = performance.now()
        // A master without the bus does not know which nodes it would hear.
        if (!connected) return
        const { most } = renewed as { most: number }
        this.#isInMinority = alive * 2 < this.mediaNodes.aliveAnywhere.length && alive < most
      },
    }
  }

  async leave(): Promise<void> {
    await execute(this.dataSource.manager, 'DELETE FROM master WHERE id = $1', [this.masterId])
  }

  /** The other masters that are alive, by id. */
  others(): Promise<Pick<MasterEntity, 'id' | 'uri'>[]> {
    return this.dataSource.getRepository(MasterEntity).find({
      select: { id: true, uri: true },
      where: { id: Not(this.masterId) },
      order: { id: 'ASC' },
    })
  }

  /** Notifies them too: one that runs, but has lost the database alone, can send its clients to other masters. */
  async removeDeadMasters(): Promise<void> {
    const removed = await rows<{ id: string }>(
      this.dataSource.manager,
      `DELETE FROM master WHERE ${IS_DEAD} RETURNING id`,
    )
    for (const { id } of removed) this.bus.publish(SUBJECT.masterDead(id), MasterDead, {})
  }
}
