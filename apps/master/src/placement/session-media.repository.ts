import type { HeldRoom, WebrtcEndReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { updated } from '../platform/database/updated.js'
import { type EventSession, mediaEnded } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import type { NodeBoot, PlacedRoom, RoomPlace } from '../media-nodes/room-place.js'
import { type MaybePlace, PLACE, placeOf, USED_BOOTS } from '../media-nodes/session-place.js'

/** Of the media that the session has, or of what it gets next. */
const NEXT_EPOCH = 'media_epoch + (media_node_id IS NULL)::integer'

/** The node takes no sessions any more. */
export const REFUSED = 'refused'

/** Why media ended that the participants did not end. */
export interface MediaEnd {
  reason: WebrtcEndReason
  /** Id of the event that backends must be told first. */
  afterEventId?: string | undefined
}

/** Of a node's boots only this one, or all but this one. */
export interface WhichBoots {
  bootId?: string
  exceptBootId?: string
}

/** Where the media of sessions is. */
@Injectable()
export class SessionMediaRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Binds the session to a node unless it is bound already; the place that holds in the end, undefined without session.
   * REFUSED when the node is on its way out: its row is locked, whatever it says, so that who ends an empty node and who
   * comes to it are one after the other.
   */
  async assign(uniqueSessionId: string, place: NodeBoot): Promise<RoomPlace | typeof REFUSED | undefined> {
    const [assigned] = await updated<RoomPlace>(
      this.dataSource.manager,
      `WITH node AS MATERIALIZED (SELECT status FROM media_node WHERE id = $2 FOR SHARE)
       UPDATE session SET media_node_id = coalesce(media_node_id, $2),
              media_node_boot_id = CASE WHEN media_node_id IS NULL THEN $3 ELSE media_node_boot_id END,
              media_epoch = media_epoch + (media_node_id IS NULL)::integer
       WHERE unique_id = $1
         AND (media_node_id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM node WHERE status <> 'running'))
       RETURNING ${PLACE}`,
      [uniqueSessionId, place.nodeId, place.bootId],
    )
    if (assigned) return assigned
    const there = await this.dataSource.query<unknown[]>('SELECT 1 FROM session WHERE unique_id = $1', [
      uniqueSessionId,
    ])
    return there.length > 0 ? REFUSED : undefined
  }

  /** Takes back an assignment that the node refused, unless others are in the session; whether it did. */
  async unassign(uniqueSessionId: string, place: RoomPlace, exceptConnectionId: string): Promise<boolean> {
    const rows = await updated<unknown>(
      this.dataSource.manager,
      `UPDATE session s SET media_node_id = NULL, media_node_boot_id = NULL
       WHERE unique_id = $1 AND media_node_id IS NOT NULL AND media_epoch = $2 AND NOT EXISTS (
         SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active' AND c.id <> $3) RETURNING 1`,
      [uniqueSessionId, place.epoch, exceptConnectionId],
    )
    return rows.length > 0
  }

  async place(uniqueSessionId: string): Promise<RoomPlace | undefined> {
    const [row] = await this.dataSource.query<MaybePlace[]>(`SELECT ${PLACE} FROM session WHERE unique_id = $1`, [
      uniqueSessionId,
    ])
    return row && placeOf(row)
  }

  async roomOf(sessionId: string): Promise<{ roomId: string; place: RoomPlace } | undefined> {
    const [row] = await this.dataSource.query<(MaybePlace & { roomId: string })[]>(
      `SELECT unique_id AS "roomId", ${PLACE} FROM session WHERE id = $1`,
      [sessionId],
    )
    const place = row && placeOf(row)
    return place && { roomId: row.roomId, place }
  }

  /** The epoch of the media that the session has, or of what it gets next. */
  async mediaEpoch(sessionId: string): Promise<number> {
    const [row] = await this.dataSource.query<{ epoch: number }[]>(
      `SELECT ${NEXT_EPOCH} AS epoch FROM session WHERE id = $1`,
      [sessionId],
    )
    return row?.epoch ?? 0
  }

  /** The boots that sessions are on, by the truth of the database. */
  usedBoots(): Promise<NodeBoot[]> {
    return this.dataSource.query<NodeBoot[]>(
      `WITH ${USED_BOOTS} SELECT node_id AS "nodeId", boot_id AS "bootId" FROM used_boot`,
    )
  }

  /** The rooms on a node, by the truth of the database. */
  async placedOn(nodeId: string, { bootId, exceptBootId }: WhichBoots = {}): Promise<PlacedRoom[]> {
    const rows = await this.dataSource.query<(RoomPlace & { roomId: string })[]>(
      `SELECT unique_id AS "roomId", ${PLACE} FROM session
       WHERE media_node_id = $1 AND ($2::text IS NULL OR media_node_boot_id = $2)
         AND ($3::text IS NULL OR media_node_boot_id <> $3)`,
      [nodeId, bootId ?? null, exceptBootId ?? null],
    )
    return rows.map(({ roomId, ...place }) => ({ roomId, place }))
  }

  /** Of the rooms that a node says it holds, those it should not: ended, or placed anew since. */
  async strayRooms(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<HeldRoom[]> {
    if (rooms.length === 0) return []
    const kept = await this.dataSource.query<HeldRoom[]>(
      `SELECT unique_id AS "roomId", media_epoch AS epoch FROM session
       WHERE unique_id = ANY($1) AND media_node_id = $2 AND media_node_boot_id = $3`,
      [rooms.map(({ roomId }) => roomId), node.nodeId, node.bootId],
    )
    const epochs = new Map(kept.map(({ roomId, epoch }) => [roomId, epoch]))
    return rooms.filter(({ roomId, epoch }) => epochs.get(roomId) !== epoch)
  }

  /** Whether the session's media was lost before: the node that it was forced onto is then only preferred. */
  async wasMoved(uniqueSessionId: string): Promise<boolean> {
    const rows = await this.dataSource.query<unknown[]>('SELECT 1 FROM session WHERE unique_id = $1 AND media_moved', [
      uniqueSessionId,
    ])
    return rows.length > 0
  }

  /**
   * Takes the media of one placement from a session, whose next user places it anew; false when the session has left
   * that placement since. Everything that publishes or subscribes locks the session's row too, so nothing of the lost
   * media is recorded afterwards.
   */
  lose({ roomId, place }: PlacedRoom, { reason, afterEventId }: MediaEnd): Promise<boolean> {
    return this.events.transaction(
      async (manager, record) => {
        const [session] = await manager.query<EventSession[]>(
          `SELECT id, unique_id AS "uniqueSessionId", created_at AS "createdAt" FROM session
           WHERE unique_id = $1 AND media_epoch = $2 AND media_node_id IS NOT NULL FOR UPDATE`,
          [roomId, place.epoch],
        )
        if (!session) return false
        if (this.events.isOn) {
          const participants = await this.events.participants(manager, 'c.session_id = $1', [session.id])
          const links = await this.events.links(manager, () => 'p.session_id = $1', [session.id])
          await record(...mediaEnded(session, participants, links, reason, this.clock.now()))
        }
        await manager.query('DELETE FROM stream WHERE session_id = $1', [session.id])
        await manager.query(
          'UPDATE session SET media_node_id = NULL, media_node_boot_id = NULL, media_moved = true WHERE id = $1',
          [session.id],
        )
        return true
      },
      { after: afterEventId },
    )
  }

  /** How many are in these rooms together. */
  async participantsIn(roomIds: readonly string[]): Promise<number> {
    const [row] = await this.dataSource.query<{ count: number }[]>(
      `SELECT count(*)::integer AS count FROM connection c JOIN session s ON s.id = c.session_id
       WHERE s.unique_id = ANY($1) AND c.status = 'active'`,
      [roomIds],
    )
    return row?.count ?? 0
  }

  /** The epoch of the media that each of the rooms has, or gets next. */
  async epochs(roomIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.dataSource.query<{ roomId: string; epoch: number }[]>(
      `SELECT unique_id AS "roomId", ${NEXT_EPOCH} AS epoch FROM session WHERE unique_id = ANY($1)`,
      [roomIds],
    )
    return new Map(rows.map(({ roomId, epoch }) => [roomId, epoch]))
  }
}
