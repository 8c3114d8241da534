import type { MediaOptions } from '@session-service/contract'
import { type Queryable, rows } from '../platform/database/sql.js'
import { placedSessions } from './placed-sessions.js'

export interface NewStream {
  id: string
  sessionId: string
  connectionId: string
  createdAt: number
  mediaOptions: MediaOptions
  /** The epoch of the media that the stream is published to. */
  mediaEpoch: number
  /** Streams that the connection publishes at most; null: no limit. */
  maxStreams: number | null
  /** Address of a camera in events. */
  rtspUri?: string
}

const INSERT_STREAMS = `
  WITH r AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(id text, "sessionId" text, "connectionId" text,
         "createdAt" bigint, "mediaOptions" jsonb, "mediaEpoch" integer, "maxStreams" integer)),
       ${placedSessions('SELECT "sessionId" FROM r')},
       live AS (SELECT c.id, c.type, placed.media_epoch FROM connection c JOIN placed ON placed.id = c.session_id
                WHERE c.id = ANY(ARRAY(SELECT "connectionId" FROM r)) AND c.status = 'active'
                FOR KEY SHARE OF c),
       counted AS (SELECT r.id,
                     (SELECT count(*) FROM stream p WHERE p.connection_id = r."connectionId")
                     + row_number() OVER (PARTITION BY r."connectionId" ORDER BY r."createdAt", r.id) AS nth
                   FROM r WHERE r."maxStreams" IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM stream p WHERE p.id = r.id)),
       inserted AS (INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
         SELECT r.id, r."sessionId", r."connectionId", r."createdAt", r."mediaOptions"
         FROM r JOIN live ON live.id = r."connectionId" AND live.media_epoch = r."mediaEpoch"
           LEFT JOIN counted ON counted.id = r.id
         WHERE r."maxStreams" IS NULL OR counted.nth <= r."maxStreams"
         ON CONFLICT DO NOTHING RETURNING id, session_id, connection_id),
       awaited AS (UPDATE recording SET autostop_at = NULL FROM inserted
         JOIN live ON live.id = inserted.connection_id
         WHERE recording.session_id = inserted.session_id AND recording.autostop_at IS NOT NULL
           AND (live.type = 'WEBRTC' OR recording.is_automatic))
  SELECT id FROM inserted`

/**
 * Inserts streams and returns the ids of those that it inserted. Sessions of streams with a maximum are locked by the
 * caller, so that streams can be counted. Hand-written: one statement inserts the streams of a group commit and locks
 * what they depend on.
 */
export async function insertStreams(queryable: Queryable, streams: readonly NewStream[]): Promise<string[]> {
  const inserted = await rows<{ id: string }>(queryable, INSERT_STREAMS, [JSON.stringify(streams)])
  return inserted.map(({ id }) => id)
}
