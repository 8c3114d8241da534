import { RecordingProperties } from '@session-service/contract'
import type { Stack } from '@session-service/testing'

/** Inserts `room-1` to `room-<count>`, so recent that the garbage collection keeps them. */
export async function insertSessions({ postgres }: Stack, count: number): Promise<void> {
  await postgres.query(
    `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                          allow_transcoding, recording_properties)
     SELECT 'room-' || n, 'room-' || n || '_' || n, $2::bigint + n, 'ROUTED', 'MANUAL', true, 'VP8', false, $3::jsonb
     FROM generate_series(1, $1::int) AS n`,
    [count, Date.now(), JSON.stringify(RecordingProperties.parse({}))],
  )
}
