import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { type Queryable, rows } from '../platform/database/sql.js'
import type { NodeBoot, PlacedRoom } from './room-place.js'
import { USED_BOOTS } from './session-place.js'

/** A room on a boot that no longer exists. */
export interface LostRoom extends PlacedRoom {
  isCrashed: boolean
  crashEventId: string | null
  /** The node has no row: not registered yet, or deleted. */
  isUnregistered: boolean
}

/** The sessions and recordings on media nodes. Hand-written: they belong to the tables of other features. */
@Injectable()
export class NodeUsage {
  constructor(private readonly dataSource: DataSource) {}

  /** Rooms of sessions on a boot that is lost, was replaced, or has ended. */
  async lostRooms(nodeId?: string): Promise<LostRoom[]> {
    const lost = await rows<NodeBoot & Omit<LostRoom, 'place'> & { epoch: number }>(
      this.dataSource.manager,
      `WITH ${USED_BOOTS}, lost_boot AS MATERIALIZED (
         SELECT u.node_id, u.boot_id, n.crash_event_id, n.id IS NULL AS is_unregistered,
                coalesce(n.disconnected_at IS NOT NULL AND n.boot_id = u.boot_id
                         AND (n.status <> 'terminating' OR n.crash_event_id IS NOT NULL), false) AS is_crashed
         FROM used_boot u LEFT JOIN media_node n ON n.id = u.node_id
         WHERE ($1::text IS NULL OR u.node_id = $1)
           AND (n.id IS NULL OR n.disconnected_at IS NOT NULL OR n.boot_id IS DISTINCT FROM u.boot_id
                OR n.status IN ('terminated', 'failed')))
       SELECT s.unique_id AS "roomId", s.media_node_id AS "nodeId", s.media_node_boot_id AS "bootId",
              s.media_epoch AS epoch, l.crash_event_id AS "crashEventId", l.is_unregistered AS "isUnregistered",
              l.is_crashed AS "isCrashed"
       FROM lost_boot l JOIN session s ON s.media_node_id = l.node_id AND s.media_node_boot_id = l.boot_id`,
      [nodeId ?? null],
    )
    return lost.map(({ nodeId: id, bootId, epoch, ...room }) => ({ ...room, place: { nodeId: id, bootId, epoch } }))
  }

  /** Whether the node holds sessions, or recordings that are in progress or not uploaded. */
  async isBusy(manager: Queryable, id: string): Promise<boolean> {
    const held = await rows<{ one: number }>(
      manager,
      `SELECT 1 AS one FROM session WHERE media_node_id = $1
       UNION ALL SELECT 1 FROM recording_part WHERE node_id = $1 AND ended IS NULL LIMIT 1`,
      [id],
    )
    return held.length > 0
  }

  /** Ids of recordings on each node that are in progress or not uploaded. */
  async recordingIds(): Promise<Map<string, string[]>> {
    const found = await rows<{ nodeId: string; ids: string[] }>(
      this.dataSource.manager,
      `SELECT node_id AS "nodeId", array_agg(DISTINCT recording_id ORDER BY recording_id) AS ids
       FROM recording_part WHERE ended IS NULL GROUP BY 1`,
    )
    return new Map(found.map(({ nodeId, ids }) => [nodeId, ids]))
  }

  /** Number of sessions on each node. */
  async sessionCounts(): Promise<Map<string, number>> {
    const counts = await rows<{ id: string; count: number }>(
      this.dataSource.manager,
      `SELECT media_node_id AS id, count(*) AS count FROM session WHERE media_node_id IS NOT NULL GROUP BY 1`,
    )
    return new Map(counts.map(({ id, count }) => [id, count]))
  }
}
