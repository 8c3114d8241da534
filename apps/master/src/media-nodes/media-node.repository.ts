import type { MediaNodeStatus } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { isPaid } from '../platform/config/edition.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { columns, execute, firstRow, type Queryable, rows } from '../platform/database/sql.js'
import type { EventDraft } from '../events/event-drafts.js'
import { EventLog, type RecordEvents } from '../events/event-log.js'
import { backOffUntil, countCrash } from './flapping.js'
import { MediaNodeEntity } from './media-node.entity.js'
import { mayBecome } from './media-node-status.js'
import { mediaNodeStatusChanged, nodeCrashed, nodeRecovered } from './node-events.js'

/** Times in UTC ms. */
export interface MediaNodeRow {
  id: string
  environmentId: string
  ip: string
  uri: string
  version: string
  status: MediaNodeStatus
  /** Time since the last change of the status, ms. */
  statusAge: number
  bootId: string | null
  launchingTime: number
  connectionTime: number | null
  /** Time of the last heartbeat that a master has written. */
  lastHeartbeatAt: number
  /** The interval that this heartbeat announced, ms. */
  heartbeatInterval: number
  disconnectedAt: number | null
  crashEventId: string | null
  drainDeadline: number | null
  /** Consecutive crashes. */
  crashCount: number
  backOffUntil: number | null
  statusReason: string | null
  launchDuration: number | null
  isSurge: boolean
  /** It has ended because it did not reconnect in time, and not on request. */
  isGivenUp: boolean
}

/** A transaction that changes rows and records their events. */
export interface NodeChange {
  manager: Queryable
  record: RecordEvents
}

type Changes = Partial<
  Omit<MediaNodeRow, 'id' | 'status' | 'statusAge' | 'launchingTime' | 'lastHeartbeatAt' | 'heartbeatInterval'>
>
const COLUMNS: { [C in keyof Changes]-?: string } = {
  environmentId: 'environment_id',
  ip: 'ip',
  uri: 'uri',
  version: 'version',
  bootId: 'boot_id',
  connectionTime: 'connection_time',
  disconnectedAt: 'disconnected_at',
  crashEventId: 'crash_event_id',
  drainDeadline: 'drain_deadline',
  crashCount: 'crash_count',
  backOffUntil: 'back_off_until',
  statusReason: 'status_reason',
  launchDuration: 'launch_duration',
  isSurge: 'is_surge',
  isGivenUp: 'is_given_up',
}
const isColumn = (name: string): name is keyof Changes => name in COLUMNS

const ROW = `(extract(epoch FROM clock_timestamp() - n.changed_at) * 1000)::float8 AS "statusAge",
  ${columns(MediaNodeEntity, 'n', [
    'id',
    'environmentId',
    'ip',
    'uri',
    'version',
    'status',
    'bootId',
    'launchingTime',
    'connectionTime',
    'lastHeartbeatAt',
    'heartbeatInterval',
    'disconnectedAt',
    'crashEventId',
    'drainDeadline',
    'crashCount',
    'backOffUntil',
    'statusReason',
    'launchDuration',
    'isSurge',
    'isGivenUp',
  ])}`

/** All rows, with ended nodes until they are deleted, in the order of their launch: `MediaNodeRow`. */
export const ALL_NODES = `SELECT ${ROW} FROM media_node n ORDER BY n.launching_time, n.id`

/** Nodes whose rows are deleted after some time. */
export const ENDED_NODES = `SELECT 1 FROM media_node WHERE status IN ('terminated', 'failed')`

/**
 * The media nodes of the cluster. A change holds the row's lock and records its events in the same transaction.
 * Hand-written: most statements lock rows, or compute ages by the clock of the database.
 */
@Injectable()
export class MediaNodeRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  change<T>(run: (change: NodeChange) => Promise<T>): Promise<T> {
    return this.events.transaction((manager, record) => run({ manager, record: this.#paidOnly(record) }))
  }

  all(): Promise<MediaNodeRow[]> {
    return rows<MediaNodeRow>(this.dataSource.manager, ALL_NODES)
  }

  find(id: string): Promise<MediaNodeRow | undefined> {
    return firstRow<MediaNodeRow>(this.dataSource.manager, `SELECT ${ROW} FROM media_node n WHERE n.id = $1`, [id])
  }

  lock({ manager }: NodeChange, id: string): Promise<MediaNodeRow | undefined> {
    return firstRow<MediaNodeRow>(manager, `SELECT ${ROW} FROM media_node n WHERE n.id = $1 FOR UPDATE`, [id])
  }

  /** Inserts a node as `launching`, in place of an ended one, whose crash count it keeps. Undefined when the id is in use. */
  async enter(
    change: NodeChange,
    node: { id: string; environmentId: string; launchingTime: number } & Changes,
  ): Promise<MediaNodeRow | undefined> {
    const { id, environmentId, launchingTime, ...rest } = node
    const former = await firstRow<{ crashCount: number }>(
      change.manager,
      `SELECT crash_count AS "crashCount" FROM media_node
       WHERE id = $1 AND status = 'terminated' AND disconnected_at IS NOT NULL`,
      [id],
    )
    await execute(change.manager, `DELETE FROM media_node WHERE id = $1 AND status IN ('failed', 'terminated')`, [id])
    const inserted = await firstRow<{ id: string }>(
      change.manager,
      `INSERT INTO media_node (id, environment_id, status, launching_time, crash_count)
       VALUES ($1, $2, 'launching', $3, $4) ON CONFLICT DO NOTHING RETURNING id`,
      [id, environmentId, launchingTime, former?.crashCount ?? 0],
    )
    const row = inserted ? await this.set(change, id, rest) : undefined
    if (row) await this.#recordStatus(change, row, null)
    return row
  }

  /** `row` is locked. */
  async setStatus(
    change: NodeChange,
    row: MediaNodeRow,
    status: MediaNodeStatus,
    changes: Changes = {},
  ): Promise<MediaNodeRow> {
    if (!mayBecome(row.status, status))
      throw new Error(`media node ${row.id} cannot go from ${row.status} to ${status}`)
    await execute(change.manager, 'UPDATE media_node SET status = $2, changed_at = clock_timestamp() WHERE id = $1', [
      row.id,
      status,
    ])
    const after = { ...((await this.set(change, row.id, changes)) ?? row), status, statusAge: 0 }
    await this.#recordStatus(change, after, row.status)
    return after
  }

  /** Changes the status if the transition is allowed. Undefined when it is not, or there is no such node. */
  async move(change: NodeChange, id: string, status: MediaNodeStatus): Promise<MediaNodeRow | undefined> {
    const row = await this.lock(change, id)
    return row && mayBecome(row.status, status) ? this.setStatus(change, row, status) : undefined
  }

  /** `row` is locked, and no master receives its heartbeats. */
  async crash(change: NodeChange, row: MediaNodeRow, now: number): Promise<MediaNodeRow> {
    const sessions = await rows<{ id: string }>(
      change.manager,
      `SELECT id FROM session WHERE media_node_id = $1 AND media_node_boot_id = $2 ORDER BY created_at, id`,
      [row.id, row.bootId],
    )
    const recordings = await rows<{ id: string }>(
      change.manager,
      `SELECT DISTINCT recording_id AS id FROM recording_part WHERE node_id = $1 AND boot_id = $2 AND ended IS NULL
       ORDER BY 1`,
      [row.id, row.bootId],
    )
    const held = { sessionIds: idsOf(sessions), recordingIds: idsOf(recordings) }
    const [crashEventId = null] = await change.record(nodeCrashed(row, held, this.#clusterId, now))
    return (
      (await this.set(change, row.id, { disconnectedAt: now, crashEventId, crashCount: countCrash(row, now) })) ?? row
    )
  }

  /** `row` is locked and disconnected, and this master has just received a heartbeat. */
  async recover(change: NodeChange, row: MediaNodeRow, changes: Changes, now: number): Promise<MediaNodeRow> {
    // A master that has not received one yet must not take the node for lost by the heartbeats before its loss.
    await execute(change.manager, 'UPDATE media_node SET heard_at = $2 WHERE id = $1', [row.id, Math.round(now)])
    const until = backOffUntil(row.crashCount, now)
    const connected = { connectionTime: now, disconnectedAt: null, crashEventId: null, backOffUntil: until }
    const after = (await this.set(change, row.id, { ...changes, ...connected })) ?? row
    await change.record(nodeRecovered(after, row.disconnectedAt ?? now, this.#clusterId, now))
    if (until !== null) await this.#recordStatus(change, after, after.status)
    return after
  }

  /** `row` is locked and connected: another process replaced its process before the loss was detected. */
  async replace(change: NodeChange, row: MediaNodeRow, bootId: string, now: number): Promise<MediaNodeRow> {
    const crashCount = countCrash(row, now)
    const until = backOffUntil(crashCount, now)
    const after = await this.set(change, row.id, { bootId, connectionTime: now, crashCount, backOffUntil: until })
    if (after && until !== null) await this.#recordStatus(change, after, after.status)
    return after ?? row
  }

  async set({ manager }: NodeChange, id: string, changes: Changes): Promise<MediaNodeRow | undefined> {
    const names = Object.keys(changes).filter(isColumn)
    const values = names.map((name) => changes[name])
    if (names.length > 0) {
      const list = names.map((name, index) => `${COLUMNS[name]} = $${index + 2}`).join(', ')
      await execute(manager, `UPDATE media_node SET ${list} WHERE id = $1`, [id, ...values])
    }
    return firstRow<MediaNodeRow>(manager, `SELECT ${ROW} FROM media_node n WHERE n.id = $1`, [id])
  }

  async remove({ manager }: NodeChange, id: string): Promise<void> {
    await execute(manager, 'DELETE FROM media_node WHERE id = $1', [id])
  }

  /** Deletes nodes that ended longer ago than the limit of their status, except those given. */
  async deleteEnded(terminatedForMs: number, failedForMs: number, except: readonly string[]): Promise<void> {
    await execute(
      this.dataSource.manager,
      `DELETE FROM media_node WHERE id <> ALL($3)
         AND ((status = 'terminated' AND changed_at < clock_timestamp() - $1 * interval '1 millisecond')
           OR (status = 'failed' AND changed_at < clock_timestamp() - $2 * interval '1 millisecond'))`,
      [terminatedForMs, failedForMs, except],
    )
  }

  get #clusterId(): string {
    return this.config.SERVICE_PRO_CLUSTER_ID
  }

  async #recordStatus(change: NodeChange, row: MediaNodeRow, before: MediaNodeStatus | null): Promise<void> {
    await change.record(mediaNodeStatusChanged(row, before, this.#clusterId, this.clock.now()))
  }

  /** The free edition records no events of the cluster. */
  #paidOnly(record: RecordEvents): RecordEvents {
    if (isPaid(this.config)) return record
    return (..._events: readonly EventDraft[]) => Promise.resolve([])
  }
}

const idsOf = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id)
