/**
 * A CTE `placed` of the sessions that have media, of those whose ids the subselect gives. It locks them against the
 * loss of their media, and before their connections, in the order of every statement that locks several.
 */
export const placedSessions = (ids: string): string => `placed AS MATERIALIZED (
  SELECT id, media_epoch FROM session WHERE id = ANY(ARRAY(${ids})) AND media_node_id IS NOT NULL
  ORDER BY id FOR KEY SHARE)`
