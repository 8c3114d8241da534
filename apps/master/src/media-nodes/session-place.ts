import type { RoomPlace } from './room-place.js'

/** Columns of a session's row with its placement. */
export const PLACE = `media_node_id AS "nodeId", media_node_boot_id AS "bootId", media_epoch AS epoch`

/**
 * A table expression `used_boot (node_id, boot_id)`: the distinct boots of media nodes on which sessions are placed. It
 * skips through the index from boot to boot, so that its cost depends on the number of boots, not of sessions.
 */
export const USED_BOOTS = `RECURSIVE used_boot (node_id, boot_id) AS (
    (SELECT media_node_id, media_node_boot_id FROM session WHERE media_node_id IS NOT NULL ORDER BY 1, 2 LIMIT 1)
    UNION ALL
    SELECT next.* FROM used_boot u CROSS JOIN LATERAL (
      SELECT media_node_id, media_node_boot_id FROM session
      WHERE media_node_id IS NOT NULL AND (media_node_id, media_node_boot_id) > (u.node_id, u.boot_id)
      ORDER BY 1, 2 LIMIT 1) next)`

/** The boots that hold sessions: `NodeBoot`. */
export const USED_BOOT_ROWS = `WITH ${USED_BOOTS} SELECT node_id AS "nodeId", boot_id AS "bootId" FROM used_boot`

export type MaybePlace = RoomPlace | { nodeId: null }
export const placeOf = (row: MaybePlace): RoomPlace | undefined =>
  row.nodeId === null ? undefined : { nodeId: row.nodeId, bootId: row.bootId, epoch: row.epoch }
