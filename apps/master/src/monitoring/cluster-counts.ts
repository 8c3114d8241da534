import { type Queryable, rows } from '../platform/database/sql.js'

/** One value of a gauge with at most two labels; the empty label is absent. */
export interface ClusterCount {
  gauge: string
  one: string
  two: string
  value: number
}

const age = (time: string): string =>
  `coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(${time}))), 0)::float8`

/** Counts sessions, connections and streams once; everything else has a partial index. */
const LIVE = `
  SELECT 'sessions' AS gauge, CASE WHEN media_node_id IS NULL THEN 'no' ELSE 'yes' END AS one, '' AS two,
         count(*)::float8 AS value
    FROM session GROUP BY 2
  UNION ALL SELECT 'connections', type, status, count(*)::float8 FROM connection GROUP BY 2, 3
  UNION ALL SELECT 'streams', CASE WHEN media_options->>'hasAudio' = 'true' THEN
                                CASE WHEN media_options->>'hasVideo' = 'true' THEN 'audio_video' ELSE 'audio' END
                              ELSE 'video' END, '', count(*)::float8
    FROM stream GROUP BY 2
  UNION ALL SELECT 'cameras', coalesce(camera_state->>'status', 'connecting'), '', count(*)::float8
    FROM connection WHERE camera IS NOT NULL GROUP BY 2
  UNION ALL SELECT 'recordings', status, '', count(*)::float8
    FROM recording WHERE status IN ('starting', 'started', 'stopped') AND removed_at IS NULL GROUP BY 2
  UNION ALL SELECT 'queue_age', consumer, '', ${age('queued_at')} FROM outbox WHERE dead_at IS NULL GROUP BY 2
  UNION ALL SELECT 'queue_age', 'finalizing', '', ${age('changed_at')}
    FROM recording WHERE status = 'stopped' AND removed_at IS NULL
  UNION ALL SELECT 'queue_age', 'removal', '', ${age('removed_at')} FROM recording WHERE removed_at IS NOT NULL
  UNION ALL SELECT 'queue_age', 'transcript', '', ${age('ended_at')} FROM ended_transcript
  UNION ALL SELECT 'queue_age', 'eviction', '', ${age('evict_at')} FROM connection WHERE evict_at < clock_timestamp()`

/** Reads a whole table that grows with its use. */
const SETTLED = `
  SELECT 'recordings' AS gauge, status AS one, '' AS two, count(*)::float8 AS value
    FROM recording WHERE status IN ('ready', 'failed') AND removed_at IS NULL GROUP BY 2`

export const liveCounts = (queryable: Queryable): Promise<ClusterCount[]> => rows<ClusterCount>(queryable, LIVE)
export const settledCounts = (queryable: Queryable): Promise<ClusterCount[]> => rows<ClusterCount>(queryable, SETTLED)
