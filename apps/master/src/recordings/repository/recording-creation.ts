import { type RecordingProperties, ServiceError } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, type EntityManager, In } from 'typeorm'
import { EventLog } from '../../events/event-log.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { type MaybePlace, PLACE, placeOf } from '../../media-nodes/session-place.js'
import { isPaid } from '../../platform/config/edition.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { execute, firstRow, rows } from '../../platform/database/sql.js'
import { noSuchSession } from '../../sessions/no-such-session.js'
import { insertPart, insertRecording, limitRefusal, type RecordableSession } from './recording-inserts.js'
import { decideProperties } from './recording-properties.js'
import type { NewPart, RecordingRow } from './recording-row.js'
import { recordingStatusChanged } from './recording.events.js'
import { RecordingEntity } from './recording.entity.js'

/** Condition on `session`: its automatic recording has not been created. */
const AWAITS_RECORDING = `recording_mode = 'ALWAYS' AND media_mode = 'ROUTED' AND NOT was_recorded`

type LockedSession = RecordableSession & MaybePlace & { awaitsRecording: boolean; wasRefused: boolean }

/** Creates `starting` recordings with their first parts, on the media nodes of the sessions, under the sessions' locks. */
@Injectable()
export class RecordingCreation {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /**
   * Creates a recording by request. `decide` may refuse.
   * @throws ServiceError CONFLICT when the session is being recorded, UNAVAILABLE while the session has no media,
   *   NO_CAPACITY when the cluster has its maximum of recordings
   */
  create(
    sessionId: string,
    decide: (defaults: RecordingProperties, id: string, place: RoomPlace) => RecordingProperties,
  ): Promise<NewPart> {
    return this.dataSource.transaction(async (manager) => {
      const session = await lockSession(manager, sessionId)
      if (!session) throw noSuchSession(sessionId)
      if (await isBeingRecorded(manager, session)) {
        throw new ServiceError('CONFLICT', `session ${sessionId} is being recorded`)
      }
      const place = placeOf(session)
      if (!place) throw new ServiceError('UNAVAILABLE', `the media of session ${sessionId} is being moved`)
      const refusal = await limitRefusal(manager, this.config.SERVICE_RECORDING_MAX_CONCURRENT)
      if (refusal) throw refusal
      const decideFor = (id: string): RecordingProperties => decide(session.recordingProperties, id, place)
      const recording = await this.#insert(manager, session, place, { decide: decideFor, isAutomatic: false })
      return { recording, place, part: await insertPart(manager, recording.id, place) }
    })
  }

  /**
   * Creates the recording of a session with the recording mode ALWAYS, once in its life. Undefined when there is none to
   * create, while the session has no media (its streams are published again), and after the first refusal of the session.
   * @throws ServiceError NO_CAPACITY when the cluster has its maximum of recordings, with the event of a failed start
   */
  async createAutomatic(sessionId: string): Promise<NewPart | undefined> {
    // Without a lock: all publications but the first one end here.
    const sql = `SELECT 1 FROM session WHERE id = $1 AND ${AWAITS_RECORDING}`
    if ((await rows(this.dataSource.manager, sql, [sessionId])).length === 0) return undefined
    const created = await this.events.transaction(async (manager, record) => {
      const session = await lockSession(manager, sessionId)
      const place = session && placeOf(session)
      if (!session?.awaitsRecording || !place) return undefined
      // A recording by request counts as its automatic one.
      if (await isBeingRecorded(manager, session)) return setFlag(manager, sessionId, 'was_recorded')
      const refusal = await limitRefusal(manager, this.config.SERVICE_RECORDING_MAX_CONCURRENT)
      if (refusal && session.wasRefused) return undefined
      await setFlag(manager, sessionId, refusal ? 'recording_refused' : 'was_recorded')
      const decide = (id: string): RecordingProperties => decideProperties(session.recordingProperties, {}, id)
      const recording = await this.#insert(manager, session, place, { decide, isAutomatic: true })
      if (!refusal) return { recording, place, part: await insertPart(manager, recording.id, place) }
      // As a start that fails: the next one may have the same id.
      const failed = { status: 'failed', reason: refusal.message, now: this.clock.now() } as const
      await record(recordingStatusChanged(recording, { ...failed, isPaid: isPaid(this.config) }))
      await manager.delete(RecordingEntity, { id: recording.id })
      return refusal
    })
    if (created instanceof ServiceError) throw created
    return created
  }

  #insert(
    manager: EntityManager,
    session: RecordableSession,
    { nodeId }: RoomPlace,
    { decide, isAutomatic }: { decide: (id: string) => RecordingProperties; isAutomatic: boolean },
  ): Promise<RecordingRow> {
    return insertRecording(manager, session, decide, {
      mediaNodeId: nodeId,
      isAutomatic,
      claimedBy: this.masterId,
      now: this.clock.now(),
    })
  }
}

/** Hand-written: it locks the row, and gives the place of the session with it. */
const lockSession = (manager: EntityManager, sessionId: string): Promise<LockedSession | undefined> =>
  firstRow<LockedSession>(
    manager,
    `SELECT id, unique_id AS "uniqueSessionId", recording_properties AS "recordingProperties", ${PLACE},
            ${AWAITS_RECORDING} AS "awaitsRecording", recording_refused AS "wasRefused"
     FROM session WHERE id = $1 FOR NO KEY UPDATE`,
    [sessionId],
  )

const isBeingRecorded = (manager: EntityManager, { uniqueSessionId }: RecordableSession): Promise<boolean> =>
  manager.existsBy(RecordingEntity, { uniqueSessionId, status: In(['starting', 'started']) })

async function setFlag(
  manager: EntityManager,
  sessionId: string,
  flag: 'was_recorded' | 'recording_refused',
): Promise<undefined> {
  await execute(manager, `UPDATE session SET ${flag} = true WHERE id = $1`, [sessionId])
}
