import { type Heartbeat, type MediaNodeStatus, newMediaNodeId } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { Queryable } from '../platform/database/sql.js'
import type { NodeLaunch } from './driver/node-driver.js'
import type { EventDraft } from '../events/event-drafts.js'
import { MediaNodeRepository, type MediaNodeRow } from './media-node.repository.js'
import { isConnected, MediaNodesService } from './media-nodes.service.js'
import { NodeLaunchService } from './node-launch.service.js'
import { NodeUsage } from './node-usage.js'

export interface FleetNode {
  row: MediaNodeRow
  /** Last heartbeat of the registered process; undefined while the node is not connected. */
  beat: Heartbeat | undefined
  /** Sessions or recordings on the node. */
  sessions: number
}

/** A change of several nodes, applied atomically. */
export interface FleetChange {
  /** Recorded before the events of the nodes' statuses. */
  event?: EventDraft
  statuses?: readonly { id: string; status: MediaNodeStatus; ifEmpty?: boolean }[]
  /** New nodes, inserted as `launching`. */
  entries?: readonly NodeLaunch[]
  /** Ids of additional nodes that become permanent. */
  permanent?: readonly string[]
  /** Rejects when this master is no longer the leader. */
  assertLeader?: (manager: Queryable) => Promise<void>
  /** A change of the caller in the same transaction. */
  withChange?: (manager: Queryable) => Promise<void>
}

/** The nodes of the cluster for autoscaling: their current state, and atomic changes of several nodes. */
@Injectable()
export class NodeFleet {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly usage: NodeUsage,
    private readonly launches: NodeLaunchService,
  ) {}

  /** In the order of their launch. */
  async nodes(): Promise<FleetNode[]> {
    // One after another: otherwise an idle service would open two connections for them, and close both, each time.
    const rows = await this.repository.all()
    const counts = await this.usage.sessionCounts()
    const recordings = await this.usage.recordingIds()
    const beats = new Map(this.mediaNodes.live().map((beat) => [beat.nodeId, beat]))
    return rows.map((row) => {
      const beat = beats.get(row.id)
      const isRegistered = isConnected(row) && beat?.bootId === row.bootId
      return {
        row,
        beat: isRegistered ? beat : undefined,
        sessions: Math.max(counts.get(row.id) ?? 0, recordings.get(row.id)?.length ?? 0),
      }
    })
  }

  newNode(): NodeLaunch {
    return { id: newMediaNodeId() }
  }

  /** False without any change when a transition is not allowed any more, since the node has changed concurrently. */
  async change({
    event,
    statuses = [],
    entries = [],
    permanent = [],
    assertLeader,
    withChange,
  }: FleetChange): Promise<boolean> {
    const rows: MediaNodeRow[] = []
    try {
      await this.repository.change(async (change) => {
        await assertLeader?.(change.manager)
        if (event) await change.record(event)
        await withChange?.(change.manager)
        // Locks rows in the order of ids, which prevents deadlocks between two changes.
        for (const { id, status, ifEmpty } of statuses.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
          rows.push(found(await this.repository.move(change, id, status)))
          if (ifEmpty && (await this.usage.isBusy(change.manager, id)))
            throw new ConcurrentChange('the node has a session')
        }
        for (const id of permanent) rows.push(found(await this.repository.set(change, id, { isSurge: false })))
        for (const node of entries) rows.push(await this.launches.announce(change, node))
      })
    } catch (error) {
      if (error instanceof ConcurrentChange) return false
      throw error
    }
    for (const row of rows) this.mediaNodes.update(row)
    return true
  }
}

class ConcurrentChange extends Error {}

function found(row: MediaNodeRow | undefined): MediaNodeRow {
  if (!row) throw new ConcurrentChange('the status of the node has changed')
  return row
}
