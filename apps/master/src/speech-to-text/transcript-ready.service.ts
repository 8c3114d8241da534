import { Inject, Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { EventLog } from '../events/event-log.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { execute, rows } from '../platform/database/sql.js'
import { Job, type JobRun } from '../platform/jobs/job.js'
import {
  type EndedWithSession,
  type EndingSession,
  type SessionEndHandler,
  SessionEndHook,
} from '../sessions/session-end-hooks.js'

/** The media node has reported the last sentence of a session by then, s after its end. */
const LAST_SENTENCE_S = 5
const EVERY_MS = 1_000
const BATCH = 100
const FORGET_EVERY_MS = 60_000
/** While masters restart to switch the event on, the leader without it leaves what the others note, s. */
const FORGET_AFTER_S = 60

const isOn = (config: MasterConfig): boolean =>
  config.SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS &&
  config.SERVICE_WEBHOOK &&
  config.SERVICE_WEBHOOK_EVENTS.includes('transcriptReady')

/** Sends the event `transcriptReady` once for each session with sentences, after its end. Hand-written statements. */
@Injectable()
@SessionEndHook()
export class TranscriptReady implements SessionEndHandler {
  constructor(
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Notes the ends of the sessions, in the transaction that deletes them. */
  async end(manager: EntityManager, ending: readonly EndingSession[]): Promise<ReadonlyMap<string, EndedWithSession>> {
    if (isOn(this.config))
      await execute(
        manager,
        `INSERT INTO ended_transcript (unique_session_id) SELECT unnest($1::text[])
         ON CONFLICT (unique_session_id) DO NOTHING`,
        [ending.map(({ uniqueSessionId }) => uniqueSessionId)],
      )
    return new Map()
  }

  /** Deletes what is left from when the event was switched on: it would wait for ever. */
  @Job({
    name: 'left transcripts',
    scope: 'leader',
    due: 'SELECT 1 FROM ended_transcript',
    everyMs: (config) => (isOn(config) ? undefined : FORGET_EVERY_MS),
  })
  async forget({ assertLeader }: JobRun): Promise<void> {
    await this.events.transaction(async (manager) => {
      await assertLeader(manager)
      const sql = `DELETE FROM ended_transcript WHERE ended_at < clock_timestamp() - $1 * interval '1 second'`
      await execute(manager, sql, [FORGET_AFTER_S])
    })
  }

  @Job({ name: 'ready transcripts', scope: 'leader', everyMs: (config) => (isOn(config) ? EVERY_MS : undefined) })
  async sendReady({ assertLeader }: JobRun): Promise<void> {
    await this.events.transaction(async (manager, record) => {
      await assertLeader(manager)
      const ended = await rows<{ id: string }>(
        manager,
        `DELETE FROM ended_transcript WHERE unique_session_id IN (
           SELECT unique_session_id FROM ended_transcript
           WHERE ended_at < clock_timestamp() - $1 * interval '1 second' ORDER BY ended_at LIMIT $2)
         RETURNING unique_session_id AS id`,
        [LAST_SENTENCE_S, BATCH],
      )
      if (ended.length === 0) return
      const ready = await rows<{
        sessionId: string
        uniqueSessionId: string
        sentences: number
        languages: string[]
      }>(
        manager,
        `SELECT session_id AS "sessionId", unique_session_id AS "uniqueSessionId", count(*)::integer AS sentences,
                array_agg(DISTINCT lang ORDER BY lang) AS languages
         FROM transcript_sentence WHERE unique_session_id = ANY($1) GROUP BY 1, 2`,
        [ended.map(({ id }) => id)],
      )
      const timestamp = this.clock.now()
      await record(...ready.map((each) => ({ name: 'transcriptReady' as const, payload: { ...each, timestamp } })))
    })
  }
}
