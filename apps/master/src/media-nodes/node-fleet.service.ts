import { type Heartbeat, type MediaNodeStatus, newMediaNodeId } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { NodeLaunch } from './drivers/node-driver.js'
import type { EventDraft } from '../events/event-drafts.js'
import type { Manager } from '../events/event-log.js'
import { MediaNodeRepository, type MediaNodeRow } from './media-node.repository.js'
import { isConnected, MediaNodesService } from './media-nodes.service.js'
import { NodeLaunchService } from './node-launch.service.js'

export interface FleetNode {
  row: MediaNodeRow
  /** What this boot of it said last; undefined while it is not heard. */
  beat: Heartbeat | undefined
  /** Sessions that are placed there. */
  sessions: number
}

/** What is to become of the nodes, all of it or nothing. */
export interface FleetChange {
  /** Recorded before the events of the nodes' statuses. */
  event?: EventDraft
  statuses?: readonly { id: string; status: MediaNodeStatus; ifEmpty?: boolean }[]
  /** New ones, `launching`. */
  entries?: readonly NodeLaunch[]
  /** Rejects when the one who asks may not, or not any more. */
  assertLeader?: (manager: Manager) => Promise<void>
}

/** The nodes of the cluster for those who launch and end them: as they are now, and changed all at once. */
@Injectable()
export class NodeFleet {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly launches: NodeLaunchService,
  ) {}

  /** In the order they came. */
  async nodes(): Promise<FleetNode[]> {
    const [rows, counts, recordings] = await Promise.all([
      this.repository.all(),
      this.repository.sessionCounts(),
      this.repository.recordingIds(),
    ])
    const beats = new Map(this.mediaNodes.live().map((beat) => [beat.nodeId, beat]))
    return rows.map((row) => {
      const beat = beats.get(row.id)
      const isIt = isConnected(row) && beat?.bootId === row.bootId
      return {
        row,
        beat: isIt ? beat : undefined,
        sessions: Math.max(counts.get(row.id) ?? 0, recordings.get(row.id)?.length ?? 0),
      }
    })
  }

  newNode(): NodeLaunch {
    return { id: newMediaNodeId() }
  }

  /** False, and nothing is changed, when a status may not follow what the node's has become meanwhile. */
  async change({ event, statuses = [], entries = [], assertLeader }: FleetChange): Promise<boolean> {
    const rows: MediaNodeRow[] = []
    try {
      await this.repository.change(async (change) => {
        await assertLeader?.(change.manager)
        if (event) await change.record(event)
        // In the order of ids, so that two changes never wait for one another.
        for (const { id, status, ifEmpty } of statuses.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
          rows.push(found(await this.repository.move(change, id, status)))
          if (ifEmpty && (await this.repository.isBusy(change, id))) throw new Overtaken('it has a session')
        }
        for (const node of entries) rows.push(await this.launches.announce(change, node))
      })
    } catch (error) {
      if (error instanceof Overtaken) return false
      throw error
    }
    for (const row of rows) this.mediaNodes.update(row)
    return true
  }
}

class Overtaken extends Error {}

function found(row: MediaNodeRow | undefined): MediaNodeRow {
  if (!row) throw new Overtaken('the node has become something else meanwhile')
  return row
}
