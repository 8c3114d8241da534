import { type Consumer, CONSUMERS, undelivered } from '../events/consumers.js'
import { type Queryable, rows } from '../platform/database/sql.js'

/** One value of a gauge, by its name, with at most two labels; an absent one is empty. */
export interface ClusterCount {
  gauge: string
  one: string
  two: string
  value: number
}

const age = (time: string): string =>
  `coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(${time}))), 0)::float8`

/**
 * The age of the first event. A replayed one may be younger than later ones, but the oldest is found only by reading
 * all.
 */
const queueAge = (consumer: Consumer): string => `
  UNION ALL SELECT 'cluster_queue_age_seconds', '${consumer}', '', ${age('queued_at')}
    FROM (SELECT o.queued_at FROM outbox o WHERE ${undelivered(`'${consumer}'`)} LIMIT 1) first`

/** The end of its last part, or its stop if that was later; $1: the ids of recordings that media nodes compose. */
const WAITS_SINCE = 'greatest(r.changed_at, (SELECT max(p.ended_at) FROM recording_part p WHERE p.recording_id = r.id))'

/** Counts sessions, connections and streams once; everything else has a partial index. */
const LIVE = `
  SELECT 'cluster_sessions' AS gauge, CASE WHEN media_node_id IS NULL THEN 'no' ELSE 'yes' END AS one, '' AS two,
         count(*)::float8 AS value
    FROM session GROUP BY 2
  UNION ALL SELECT 'cluster_connections', type, status, count(*)::float8 FROM connection GROUP BY 2, 3
  UNION ALL SELECT 'cluster_streams', CASE WHEN media_options->>'hasAudio' = 'true' THEN
                                CASE WHEN media_options->>'hasVideo' = 'true' THEN 'audio_video' ELSE 'audio' END
                              ELSE 'video' END, '', count(*)::float8
    FROM stream GROUP BY 2
  UNION ALL SELECT 'cluster_cameras', coalesce(camera_state->>'status', 'connecting'), '', count(*)::float8
    FROM connection WHERE camera IS NOT NULL GROUP BY 2
  UNION ALL SELECT 'cluster_recordings', status, '', count(*)::float8
    FROM recording WHERE status IN ('starting', 'started', 'stopped') AND removed_at IS NULL GROUP BY 2
  ${CONSUMERS.map(queueAge).join('')}
  UNION ALL SELECT 'cluster_queue_age_seconds', 'finalizing', '', ${age(WAITS_SINCE)}
    FROM recording r WHERE r.status = 'stopped' AND r.removed_at IS NULL AND r.id <> ALL($1::text[])
  UNION ALL SELECT 'cluster_queue_age_seconds', 'removal', '', ${age('removed_at')} FROM recording WHERE removed_at IS NOT NULL
  UNION ALL SELECT 'cluster_queue_age_seconds', 'transcript', '', ${age('ended_at')} FROM ended_transcript
  UNION ALL SELECT 'cluster_queue_age_seconds', 'eviction', '', ${age('evict_at')} FROM connection WHERE evict_at < clock_timestamp()`

/** Reads a whole table that grows with its use. */
const ENDED = `
  SELECT 'cluster_recordings' AS gauge, status AS one, '' AS two, count(*)::float8 AS value
    FROM recording WHERE status IN ('ready', 'failed') AND removed_at IS NULL GROUP BY 2`

/** `composed`: the ids of the recordings that media nodes compose. */
export const liveCounts = (queryable: Queryable, composed: readonly string[]): Promise<ClusterCount[]> =>
  rows<ClusterCount>(queryable, LIVE, [composed])
export const endedCounts = (queryable: Queryable): Promise<ClusterCount[]> => rows<ClusterCount>(queryable, ENDED)
