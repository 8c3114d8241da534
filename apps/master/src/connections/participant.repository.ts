import {
  type ConnectionInfo,
  type DisconnectReason,
  endedByLast,
  type Role,
  type SessionEndReason,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { execute, firstRow, type Queryable, rows } from '../platform/database/sql.js'
import { departures, type EventDraft, type EventSession, sessionDestroyed } from '../events/event-drafts.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import { cameraMembers } from './camera.js'
import { ConnectionEntity } from './connection.entity.js'
import type {
  Absence,
  Participant,
  RemovedConnection,
  Rights,
  SignalRecipients,
  TokenRelease,
} from './connection.records.js'
import { PARTICIPANT } from './participant-columns.js'
import { RECORDER_AWAITED_S } from './recorder.repository.js'

const NOTHING_ENDED: TokenRelease = { place: null, sessionEnded: false, recordingIds: [] }

/**
 * Moves participants to other sockets, and removes them. Hand-written: the statements lock
 * the session's row and are on the path of every join and leave.
 */
@Injectable()
export class ParticipantRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {}

  /** Reads the rights under a share lock, which waits for a change in progress, so that a subscriber misses none. */
  rights(id: string): Promise<Rights | undefined> {
    return firstRow<Rights>(this.dataSource.manager, 'SELECT role, record FROM connection WHERE id = $1 FOR SHARE', [
      id,
    ])
  }

  /** Reads the role without a lock, and so misses a change that is not committed. */
  async role(id: string): Promise<Role | undefined> {
    const row = await firstRow<{ role: Role }>(this.dataSource.manager, 'SELECT role FROM connection WHERE id = $1', [
      id,
    ])
    return row?.role
  }

  /** The participants among the given ids, cameras included; undefined when there is no such session. */
  recipients(sessionId: string, among: string[]): Promise<SignalRecipients | undefined> {
    return firstRow<SignalRecipients>(
      this.dataSource.manager,
      `SELECT s.unique_id AS "roomId",
              EXISTS (SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active') AS "hasParticipants",
              ARRAY(SELECT c.id FROM connection c
                    WHERE c.session_id = s.id AND c.status = 'active' AND c.id = ANY($2)) AS present
       FROM session s WHERE s.id = $1`,
      [sessionId, among],
    )
  }

  /**
   * Makes the token usable again after a failed join. Other participants may have left meanwhile without ending the
   * session, because this one counted as present: a recorded session that is empty now ends as with its last
   * participant. A session that had no participant before stays.
   */
  releaseToken(connectionId: string): Promise<TokenRelease> {
    return this.events.transaction(async (manager, record) => {
      const session = await this.#lockSession(manager, connectionId)
      if (!session) return NOTHING_ENDED
      const leaving = this.events.isOn ? await this.#departure(manager, session, connectionId, 'networkDisconnect') : []
      const row = await firstRow<{ status: string }>(
        manager,
        `UPDATE connection SET status = CASE status WHEN 'hidden' THEN 'awaited' ELSE 'pending' END,
                active_at = NULL, client_data = NULL, ip = NULL, platform = NULL,
                location = NULL, resume_hash = NULL, master_id = NULL,
                evict_at = CASE status WHEN 'hidden' THEN clock_timestamp() + $2 * interval '1 second' END
         WHERE id = $1 RETURNING status`,
        [connectionId, RECORDER_AWAITED_S],
      )
      await record(...leaving)
      if (row?.status === 'pending') await this.#forgetStart(manager, session.id)
      if (row?.status !== 'pending' || !(await this.#isRecorded(manager, session.uniqueSessionId))) return NOTHING_ENDED
      const ended = await this.#endIfEmpty(manager, record, session, 'networkDisconnect')
      return { place: session.place, sessionEnded: ended !== undefined, recordingIds: ended ?? [] }
    })
  }

  /** The maximum duration of a session that no participant has joined does not run: a session that was left has ended. */
  async #forgetStart(manager: Manager, sessionId: string): Promise<void> {
    await execute(
      manager,
      `UPDATE session s SET ends_at = NULL WHERE s.id = $1 AND s.ends_at IS NOT NULL AND NOT s.was_emptied
         AND NOT EXISTS (SELECT 1 FROM connection c
                         WHERE c.session_id = s.id AND c.status = 'active' AND c.type = 'WEBRTC')`,
      [sessionId],
    )
  }

  /** Events of a participant's departure; none when the connection is not a participant. */
  async #departure(
    manager: Manager,
    session: EventSession,
    connectionId: string,
    reason: DisconnectReason,
  ): Promise<EventDraft[]> {
    const leaver = await this.events.participants(manager, 'c.id = $1', [connectionId])
    const links = await this.events.links(
      manager,
      (receiver) => `p.session_id = $2 AND (p.connection_id = $1 OR ${receiver} = $1)`,
      [connectionId, session.id],
    )
    return departures(session, leaver, links, reason, this.clock.now())
  }

  /** Moves a participant to a socket of `masterId`. Undefined when it was removed or the resume key is wrong. */
  resume(
    connectionId: string,
    resumeHash: Buffer,
    masterId: string,
  ): Promise<(Participant & { lastSignalId: number | null }) | undefined> {
    return firstRow<Participant & { lastSignalId: number | null }>(
      this.dataSource.manager,
      `UPDATE connection c SET master_id = $3, evict_at = NULL
       FROM session s, connection former
       WHERE s.id = c.session_id AND former.id = c.id AND c.id = $1 AND c.resume_hash = $2
         AND c.status IN ('active', 'hidden')
       RETURNING ${PARTICIPANT},
         CASE WHEN former.evict_at IS NOT NULL THEN former.last_signal_id END AS "lastSignalId"`,
      [connectionId, resumeHash, masterId],
    )
  }

  /**
   * Deletes a connection and, with the last active one, its session, in one transaction under the session's lock.
   * `only`: not when the participant has resumed.
   */
  async remove(
    connectionId: string,
    reason: DisconnectReason,
    { sessionId, only }: { sessionId?: string; only?: Absence | undefined } = {},
  ): Promise<RemovedConnection | undefined> {
    return this.events.transaction(async (manager, record) => {
      const session = await this.#lockSession(manager, connectionId, sessionId)
      if (!session) return undefined
      const streams = await rows<{ id: string }>(
        manager,
        'SELECT id FROM stream WHERE connection_id = $1 ORDER BY created_at, id',
        [connectionId],
      )
      const leaving = this.events.isOn ? await this.#departure(manager, session, connectionId, reason) : []
      const removed = await firstRow<{ status: string; type: 'WEBRTC' | 'IPCAM' }>(
        manager,
        `DELETE FROM connection WHERE id = $1
           AND ($2::text IS NULL OR evict_at < clock_timestamp() OR $2 = 'lost' AND evict_at IS NOT NULL)
           AND ($3::text IS NULL OR status IN ('pending', 'active')) RETURNING status, type`,
        [connectionId, only ?? null, sessionId ?? null],
      )
      if (!removed) return undefined
      const wasActive = removed.status === 'active'
      await record(...leaving)
      const { uniqueSessionId: roomId, place } = session
      const mayEnd = wasActive && removed.type === 'WEBRTC'
      const ended = mayEnd ? await this.#endIfEmpty(manager, record, session, reason) : undefined
      return {
        connectionId,
        roomId,
        wasActive,
        wasHidden: removed.status === 'hidden',
        streamIds: streams.map(({ id }) => id),
        place,
        sessionEnded: ended !== undefined,
        recordingIds: ended ?? [],
      }
    })
  }

  /** Locks the session of a connection against joins and departures. `sessionId`: only if it is that session. */
  #lockSession(
    manager: Manager,
    connectionId: string,
    sessionId?: string,
  ): Promise<(EventSession & { place: RoomPlace | null }) | undefined> {
    return firstRow<EventSession & { place: RoomPlace | null }>(
      manager,
      `SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt",
              CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
                'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id, 'epoch', s.media_epoch) END AS place
       FROM session s WHERE s.id = (SELECT session_id FROM connection WHERE id = $1)
         AND ($2::text IS NULL OR s.id = $2) FOR UPDATE`,
      [connectionId, sessionId ?? null],
    )
  }

  /**
   * Ends a session without participants other than cameras, unless a hook keeps it. Returns the recordings that its end
   * stopped.
   */
  async #endIfEmpty(
    manager: EntityManager,
    record: Record,
    session: EventSession & { place: RoomPlace | null },
    reason: DisconnectReason,
  ): Promise<string[] | undefined> {
    if (await this.#hasRegular(manager, session.id)) return undefined
    if (await this.endHooks.keep(manager, session.uniqueSessionId, reason)) {
      await execute(manager, 'UPDATE session SET was_emptied = true WHERE id = $1', [session.id])
      return undefined
    }
    const [endReason, now] = [endedByLast(reason), this.clock.now()]
    const { events, recordingIds } = await this.endHooks.end(manager, session.uniqueSessionId, endReason, now)
    const leaving = this.events.isOn ? await this.#camerasLeaving(manager, session, endReason, now) : []
    await record(
      ...leaving,
      ...events,
      sessionDestroyed(session, endReason, now, { mediaNodeId: session.place?.nodeId ?? null }),
    )
    await execute(manager, 'DELETE FROM session WHERE id = $1', [session.id])
    return recordingIds
  }

  /** The departures of the cameras of a session that ends. */
  async #camerasLeaving(
    manager: Manager,
    session: EventSession,
    reason: SessionEndReason,
    now: number,
  ): Promise<EventDraft[]> {
    const cameras = await this.events.participants(manager, 'c.session_id = $1', [session.id])
    if (cameras.length === 0) return []
    const links = await this.events.links(manager, () => 'p.session_id = $1', [session.id])
    return departures(session, cameras, links, reason, now)
  }

  /** Whether a recording runs without an automatic stop scheduled. */
  async #isRecorded(manager: Manager, uniqueSessionId: string): Promise<boolean> {
    const recording = await firstRow<{ id: string }>(
      manager,
      `SELECT id FROM recording
       WHERE unique_session_id = $1 AND status IN ('starting', 'started') AND autostop_at IS NULL LIMIT 1`,
      [uniqueSessionId],
    )
    return recording !== undefined
  }

  async #hasRegular(queryable: Queryable, sessionId: string): Promise<boolean> {
    const active = await firstRow<{ id: string }>(
      queryable,
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND type = 'WEBRTC' LIMIT 1`,
      [sessionId],
    )
    return active !== undefined
  }

  /** The participants of a session as its clients see them, in the order they joined. */
  async present(sessionId: string): Promise<ConnectionInfo[]> {
    const present = await rows<ConnectionInfo & Pick<ConnectionEntity, 'cameraState'> & { level: number | null }>(
      this.dataSource.manager,
      `SELECT id AS "connectionId", active_at AS "createdAt", CASE type WHEN 'WEBRTC' THEN role END AS role,
              coalesce(client_data, '') AS "clientData", server_data AS "serverData",
              camera_state AS "cameraState", (network_quality->>'level')::integer AS level
       FROM connection WHERE session_id = $1 AND status = 'active' ORDER BY active_at, id`,
      [sessionId],
    )
    return present.map(({ cameraState, level, ...connection }) => ({
      ...connection,
      ...cameraMembers(cameraState),
      ...(level !== null && { networkQuality: level }),
    }))
  }

  /** Number of participants with a client. */
  countActive(sessionId: string): Promise<number> {
    return this.dataSource.getRepository(ConnectionEntity).countBy({ sessionId, status: 'active', type: 'WEBRTC' })
  }

  async activeAmong(sessionId: string, connectionIds: string[]): Promise<Set<string>> {
    const active = await rows<{ id: string }>(
      this.dataSource.manager,
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND id = ANY($2)`,
      [sessionId, connectionIds],
    )
    return new Set(active.map(({ id }) => id))
  }
}
