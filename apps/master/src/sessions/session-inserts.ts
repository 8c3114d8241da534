import type { CreateSessionBody, ForcedVideoCodec, RecordingProperties } from '@session-service/contract'
import { prepared } from '../platform/database/prepared-statements.js'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import type { SessionLimits } from './session-limits.js'

export interface NewSession extends SessionLimits {
  id: string
  uniqueSessionId: string
  createdAt: number
  mediaMode: CreateSessionBody['mediaMode']
  recordingMode: CreateSessionBody['recordingMode']
  hasCustomId: boolean
  forcedVideoCodec: ForcedVideoCodec
  allowTranscoding: boolean
  recordingProperties: RecordingProperties
  forcedNodeId: string | null
}

const SESSION_ROWS = `jsonb_to_recordset($1::jsonb) AS r(id text, "uniqueSessionId" text, "createdAt" bigint,
    "mediaMode" text, "recordingMode" text, "hasCustomId" boolean, "forcedVideoCodec" text, "allowTranscoding" boolean,
    "recordingProperties" jsonb, "forcedNodeId" text, "maxParticipants" integer, "maxStreams" integer,
    "maxDuration" integer)`

const insertionOf = (source: string): string => `
  INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                       allow_transcoding, recording_properties, forced_node_id, max_participants, max_streams,
                       max_duration, told_at)
  SELECT f.id, f."uniqueSessionId", f."createdAt", f."mediaMode", f."recordingMode", f."hasCustomId",
         f."forcedVideoCodec", f."allowTranscoding", f."recordingProperties", f."forcedNodeId", f."maxParticipants",
         f."maxStreams", f."maxDuration", f."createdAt"
  FROM (${source}) f`

const ALL = `SELECT * FROM ${SESSION_ROWS}`
const UP_TO_LIMIT = `
  SELECT * FROM ${SESSION_ROWS}
  WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = r.id)
  ORDER BY "createdAt", id
  LIMIT greatest($2 - (SELECT count(*) FROM session), 0)`
/** In the order of ids, so that two masters that create the same sessions do not deadlock. */
const UNLESS_EXISTING = 'ORDER BY f.id ON CONFLICT DO NOTHING RETURNING id'

// Three statements: Postgres would make a plan of a common one for each batch, and search for existing sessions twice.
const INSERT_GENERATED = prepared(insertionOf(ALL))
const INSERT_NEW = prepared(`${insertionOf(ALL)} ${UNLESS_EXISTING}`)
const INSERT_UP_TO_LIMIT = prepared(`${insertionOf(UP_TO_LIMIT)} ${UNLESS_EXISTING}`)

/** Waits for the end of sessions that are being deleted, in the order in which deletions lock them. */
const AWAIT_DELETIONS = prepared('SELECT FROM session WHERE id = ANY($1) ORDER BY id FOR KEY SHARE')

/** Any number that nothing else in the database locks: held while sessions are counted and inserted. */
const CREATION_LOCK = 7_230_010

/** Why a session was not inserted. */
export type Uninserted = 'exists' | 'full'

/**
 * Inserts sessions and returns the reason for each that it did not insert, by id. `most`: the number of sessions in the
 * cluster that it never exceeds, 0: no limit. With a limit it needs a transaction. Hand-written: a group commit inserts
 * all sessions in one statement.
 */
export async function insertSessions(
  manager: Queryable,
  sessions: readonly NewSession[],
  most: number,
): Promise<Map<string, Uninserted>> {
  // A batch that fails is repeated one by one: a generated id that exists is then found as a custom one is.
  if (most === 0 && sessions.length > 1 && !sessions.some(({ hasCustomId }) => hasCustomId)) {
    await execute(manager, INSERT_GENERATED, [JSON.stringify(sessions)])
    return new Map()
  }
  if (most > 0) await lockCreation(manager, sessions)
  const inserted = await insertRows(manager, sessions, most)
  const missing = sessions.map(({ id }) => id).filter((id) => !inserted.has(id))
  const existing = most > 0 && missing.length > 0 ? await existingAmong(manager, missing) : new Set(missing)
  return new Map(missing.map((id) => [id, existing.has(id) ? 'exists' : 'full']))
}

/** Without a limit, the insertion itself waits for a session with the same id that is being deleted. */
async function lockCreation(manager: Queryable, sessions: readonly NewSession[]): Promise<void> {
  const customIds = sessions.filter(({ hasCustomId }) => hasCustomId).map(({ id }) => id)
  // Before the other lock, for which all other creations wait.
  if (customIds.length > 0) await execute(manager, AWAIT_DELETIONS, [customIds])
  // A statement of its own: the next one sees what the former holder of the lock has committed.
  await execute(manager, 'SELECT pg_advisory_xact_lock($1)', [CREATION_LOCK])
}

/** Gives the ids of those that were inserted. */
async function insertRows(manager: Queryable, sessions: readonly NewSession[], most: number): Promise<Set<string>> {
  const values = JSON.stringify(sessions)
  const inserted = await (most > 0
    ? rows<{ id: string }>(manager, INSERT_UP_TO_LIMIT, [values, most])
    : rows<{ id: string }>(manager, INSERT_NEW, [values]))
  return new Set(inserted.map(({ id }) => id))
}

async function existingAmong(manager: Queryable, ids: string[]): Promise<Set<string>> {
  const existing = await rows<{ id: string }>(manager, 'SELECT id FROM session WHERE id = ANY($1)', [ids])
  return new Set(existing.map(({ id }) => id))
}
