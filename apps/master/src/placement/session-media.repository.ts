import type { HeldRoom } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { GroupRead } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { execute, firstRow, rows } from '../platform/database/sql.js'
import type { NodeBoot, PlacedRoom, RoomPlace } from '../media-nodes/room-place.js'
import { type MaybePlace, PLACE, placeOf } from '../media-nodes/session-place.js'

/** The epoch of the current placement, or of the next one when the session has none. */
const NEXT_EPOCH = 'media_epoch + (media_node_id IS NULL)::integer'

const PLACES = new KeyedStatement<MaybePlace & { roomId: string }>(
  (is) => `SELECT unique_id AS "roomId", ${PLACE} FROM session WHERE unique_id ${is}`,
)
const EPOCHS = new KeyedStatement<{ id: string; epoch: number }>(
  (is) => `SELECT id, ${NEXT_EPOCH} AS epoch FROM session WHERE id ${is}`,
)

/** The node no longer accepts sessions. */
export const REFUSED = 'refused'

/** Media of an epoch before `valid` is lost. `last` is one less while the session has no placement. */
export interface RoomEpochs {
  last: number
  valid: number
}

/** Restricts a query to one boot of a node, or to all except one. */
export interface BootFilter {
  bootId?: string
  exceptBootId?: string
}

/**
 * Reads and writes the placement of sessions on media nodes. Hand-written: placement is on the path of every join, and
 * assigning needs locks.
 */
@Injectable()
export class SessionMediaRepository {
  readonly #places = new GroupRead<string, MaybePlace>((roomIds) => this.#placesOf(roomIds))
  readonly #epochs = new GroupRead<string, number>((sessionIds) => this.#mediaEpochs(sessionIds))

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Assigns the session to a node unless it has one. Returns the resulting place, undefined when there is no such
   * session. REFUSED when the node is draining or terminating: its row is locked, so that ending an empty node and
   * placing a session on it are serialized.
   */
  async assign(uniqueSessionId: string, place: NodeBoot): Promise<RoomPlace | typeof REFUSED | undefined> {
    const assigned = await firstRow<RoomPlace>(
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
    const session = await firstRow<{ id: string }>(
      this.dataSource.manager,
      'SELECT id FROM session WHERE unique_id = $1',
      [uniqueSessionId],
    )
    return session ? REFUSED : undefined
  }

  /**
   * Reverts an assignment that the node rejected, unless other participants are active: regular ones, or cameras that the
   * node publishes. Returns whether it did.
   */
  async unassign(uniqueSessionId: string, place: RoomPlace, exceptConnectionId: string): Promise<boolean> {
    const changed = await execute(
      this.dataSource.manager,
      `UPDATE session s SET media_node_id = NULL, media_node_boot_id = NULL
       WHERE unique_id = $1 AND media_node_id IS NOT NULL AND media_epoch = $2 AND NOT EXISTS (
         SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active' AND c.id <> $3
           AND (c.type = 'WEBRTC' OR EXISTS (SELECT 1 FROM stream p WHERE p.connection_id = c.id)))`,
      [uniqueSessionId, place.epoch, exceptConnectionId],
    )
    return changed > 0
  }

  async place(uniqueSessionId: string): Promise<RoomPlace | undefined> {
    const row = await this.#places.get(uniqueSessionId)
    return row && placeOf(row)
  }

  async #placesOf(uniqueSessionIds: string[]): Promise<Map<string, MaybePlace>> {
    const places = await PLACES.rows(this.dataSource.manager, uniqueSessionIds)
    return new Map(places.map((place) => [place.roomId, place]))
  }

  async roomOf(sessionId: string): Promise<{ roomId: string; place: RoomPlace } | undefined> {
    const row = await firstRow<MaybePlace & { roomId: string }>(
      this.dataSource.manager,
      `SELECT unique_id AS "roomId", ${PLACE} FROM session WHERE id = $1`,
      [sessionId],
    )
    const place = row && placeOf(row)
    return place && { roomId: row.roomId, place }
  }

  /** The epoch of the session's current placement, or of the next one when it has none. */
  async mediaEpoch(sessionId: string): Promise<number> {
    return (await this.#epochs.get(sessionId)) ?? 0
  }

  async #mediaEpochs(sessionIds: string[]): Promise<Map<string, number>> {
    const epochs = await EPOCHS.rows(this.dataSource.manager, sessionIds)
    return new Map(epochs.map(({ id, epoch }) => [id, epoch]))
  }

  /** The rooms on a node, by the database. */
  async placedOn(nodeId: string, { bootId, exceptBootId }: BootFilter = {}): Promise<PlacedRoom[]> {
    const placed = await rows<RoomPlace & { roomId: string }>(
      this.dataSource.manager,
      `SELECT unique_id AS "roomId", ${PLACE} FROM session
       WHERE media_node_id = $1 AND ($2::text IS NULL OR media_node_boot_id = $2)
         AND ($3::text IS NULL OR media_node_boot_id <> $3)`,
      [nodeId, bootId ?? null, exceptBootId ?? null],
    )
    return placed.map(({ roomId, ...place }) => ({ roomId, place }))
  }

  /** The rooms of an inventory that the node should not hold: ended, or placed again since. */
  async strayRooms(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<HeldRoom[]> {
    if (rooms.length === 0) return []
    const kept = await rows<HeldRoom>(
      this.dataSource.manager,
      `SELECT unique_id AS "roomId", media_epoch AS epoch FROM session
       WHERE unique_id = ANY($1) AND media_node_id = $2 AND media_node_boot_id = $3`,
      [rooms.map(({ roomId }) => roomId), node.nodeId, node.bootId],
    )
    const epochs = new Map(kept.map(({ roomId, epoch }) => [roomId, epoch]))
    return rooms.filter(({ roomId, epoch }) => epochs.get(roomId) !== epoch)
  }

  /** Whether the session lost its media before. The forced node is then preferred and not required. */
  async wasMoved(uniqueSessionId: string): Promise<boolean> {
    const session = await firstRow<{ id: string }>(
      this.dataSource.manager,
      'SELECT id FROM session WHERE unique_id = $1 AND media_moved',
      [uniqueSessionId],
    )
    return session !== undefined
  }

  /** Numbers of participants with a client, of those rooms that have any. */
  async participantsIn(roomIds: readonly string[]): Promise<Map<string, number>> {
    const counts = await rows<{ roomId: string; count: number }>(
      this.dataSource.manager,
      `SELECT s.unique_id AS "roomId", count(*)::integer AS count FROM connection c JOIN session s ON s.id = c.session_id
       WHERE s.unique_id = ANY($1) AND c.status = 'active' AND c.type = 'WEBRTC' GROUP BY s.unique_id`,
      [roomIds],
    )
    return new Map(counts.map(({ roomId, count }) => [roomId, count]))
  }

  /** The epochs of each room: of its last placement, and of the current or else the next one. */
  async epochs(roomIds: readonly string[]): Promise<Map<string, RoomEpochs>> {
    const found = await rows<RoomEpochs & { roomId: string }>(
      this.dataSource.manager,
      `SELECT unique_id AS "roomId", media_epoch AS last, ${NEXT_EPOCH} AS valid FROM session WHERE unique_id = ANY($1)`,
      [roomIds],
    )
    return new Map(found.map(({ roomId, ...epochs }) => [roomId, epochs]))
  }
}
