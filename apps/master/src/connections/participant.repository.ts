import { type ConnectionInfo, type DisconnectReason, endedByLast, type Role } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { updated } from '../platform/database/updated.js'
import {
  departures,
  type EventDraft,
  type EventSession,
  participantJoined,
  sessionDestroyed,
} from '../events/event-drafts.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import type { Audience, GivenBack, Participant, RemovedConnection, Rights, TakeToken } from './connection.records.js'
import { RECORDER_AWAITED_S } from './recorder.repository.js'

const PARTICIPANT = `
  c.id AS "connectionId", c.session_id AS "sessionId", s.unique_id AS "roomId", c.role, c.record,
  c.created_at AS "createdAt", c.active_at AS "activeAt", c.server_data AS "serverData",
  c.client_data AS "clientData", c.mediaserver_options AS "mediaserverOptions", c.ice_servers AS "iceServers",
  s.forced_node_id AS "forcedNodeId", s.forced_video_codec AS "forcedVideoCodec",
  s.recording_mode AS "recordingMode", c.status = 'hidden' AS "isHidden"`

const NOTHING_ENDED: GivenBack = { place: null, sessionEnded: false, recordingIds: [] }

/** By the clock of the database, which all masters share. */
const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

/** How a connection becomes a participant, comes back, and goes. */
@Injectable()
export class ParticipantRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {}

  /** What the participant may do; waits for a change that is being made, so that none is missed by who listens already. */
  async rights(id: string): Promise<Rights | undefined> {
    const [rights] = await this.dataSource.query<Rights[]>(
      'SELECT role, record FROM connection WHERE id = $1 FOR SHARE',
      [id],
    )
    return rights
  }

  /** Without a lock: a change that is being written may be missed. */
  async role(id: string): Promise<Role | undefined> {
    const [row] = await this.dataSource.query<{ role: Role }[]>('SELECT role FROM connection WHERE id = $1', [id])
    return row?.role
  }

  /** Who of a session is in; undefined when there is no such session. */
  async audience(sessionId: string, among: string[]): Promise<Audience | undefined> {
    const [audience] = await this.dataSource.query<Audience[]>(
      `SELECT s.unique_id AS "roomId",
              EXISTS (SELECT 1 FROM connection c WHERE c.session_id = s.id AND c.status = 'active') AS "hasParticipants",
              ARRAY(SELECT c.id FROM connection c
                    WHERE c.session_id = s.id AND c.status = 'active' AND c.id = ANY($2)) AS present
       FROM session s WHERE s.id = $1`,
      [sessionId, among],
    )
    return audience
  }

  /** Takes the token exactly once; undefined when it is unknown or taken. */
  take(tokenHash: Buffer, taken: Omit<TakeToken, 'connectionId'>): Promise<Participant | undefined> {
    const session = { where: 's.id = (SELECT session_id FROM connection WHERE token_hash = $1)', values: [tokenHash] }
    return this.events.change(session, async (manager, record) => {
      const participant = await this.takeRow(manager, tokenHash, taken)
      if (participant && !participant.isHidden) {
        const { sessionId: id, roomId: uniqueSessionId } = participant
        await record(participantJoined({ id, uniqueSessionId }, { ...participant, ...taken }))
      }
      return participant
    })
  }

  private async takeRow(
    manager: EntityManager,
    tokenHash: Buffer,
    taken: Omit<TakeToken, 'connectionId'>,
  ): Promise<Participant | undefined> {
    const [participant] = await updated<Participant>(
      manager,
      // The share lock makes a session that is ending now wait for this participant, or this one see it gone.
      `WITH s AS (SELECT * FROM session
                  WHERE id = (SELECT session_id FROM connection WHERE token_hash = $1) FOR KEY SHARE)
       UPDATE connection c SET status = CASE c.status WHEN 'awaited' THEN 'hidden' ELSE 'active' END,
              active_at = ${NOW_MS}, client_data = $2, ip = $3, platform = $4,
              location = $5, resume_hash = $6, master_id = $7, evict_at = NULL
       FROM s WHERE s.id = c.session_id AND c.token_hash = $1
         AND (c.status = 'pending' OR c.status = 'awaited' AND c.evict_at > clock_timestamp())
       RETURNING ${PARTICIPANT}`,
      [tokenHash, taken.clientData, taken.ip, taken.platform, taken.location, taken.resumeHash, taken.masterId],
    )
    return participant
  }

  /**
   * Gives a token back whose taker could not be let in. Others may have left meanwhile because there was somebody: if
   * nobody is, what is recorded goes as when the last one leaves; a session that nobody has been in yet stays.
   */
  releaseToken(connectionId: string): Promise<GivenBack> {
    return this.events.transaction(async (manager, record) => {
      const session = await this.lockSession(manager, connectionId)
      if (!session) return NOTHING_ENDED
      const leaving = this.events.isOn ? await this.departure(manager, session, connectionId, 'networkDisconnect') : []
      const [row] = await updated<{ status: string }>(
        manager,
        `UPDATE connection SET status = CASE status WHEN 'hidden' THEN 'awaited' ELSE 'pending' END,
                active_at = NULL, client_data = NULL, ip = NULL, platform = NULL,
                location = NULL, resume_hash = NULL, master_id = NULL,
                evict_at = CASE status WHEN 'hidden' THEN clock_timestamp() + $2 * interval '1 second' END
         WHERE id = $1 RETURNING status`,
        [connectionId, RECORDER_AWAITED_S],
      )
      await record(...leaving)
      if (row?.status !== 'pending' || !(await this.isRecorded(manager, session.uniqueSessionId))) return NOTHING_ENDED
      const ended = await this.endIfEmpty(manager, record, session, 'networkDisconnect')
      return { place: session.place, sessionEnded: ended !== undefined, recordingIds: ended ?? [] }
    })
  }

  /** What the departure of a participant means to backends; nothing when it is none. */
  private async departure(
    manager: Manager,
    session: EventSession,
    connectionId: string,
    reason: DisconnectReason,
  ): Promise<EventDraft[]> {
    const leaver = await this.events.participants(manager, 'c.id = $1', [connectionId])
    const links = await this.events.links(
      manager,
      (who) => `p.session_id = $2 AND (p.connection_id = $1 OR ${who} = $1)`,
      [connectionId, session.id],
    )
    return departures(session, leaver, links, reason, this.clock.now())
  }

  /** Moves a participant to a socket of `masterId`; undefined when it is gone or the key is wrong. */
  async resume(
    connectionId: string,
    resumeHash: Buffer,
    masterId: string,
  ): Promise<(Participant & { lastSignalId: number | null }) | undefined> {
    const [participant] = await updated<Participant & { lastSignalId: number | null }>(
      this.dataSource.manager,
      `UPDATE connection c SET master_id = $3, evict_at = NULL
       FROM session s, connection former
       WHERE s.id = c.session_id AND former.id = c.id AND c.id = $1 AND c.resume_hash = $2
         AND c.status IN ('active', 'hidden')
       RETURNING ${PARTICIPANT},
         CASE WHEN former.evict_at IS NOT NULL THEN former.last_signal_id END AS "lastSignalId"`,
      [connectionId, resumeHash, masterId],
    )
    return participant
  }

  /**
   * Deletes a connection and, with the last active one, its session, in one transaction under the session's lock.
   * `onlyOverdue`: unless its socket came back meanwhile.
   */
  async remove(
    connectionId: string,
    reason: DisconnectReason,
    { sessionId, onlyOverdue = false }: { sessionId?: string; onlyOverdue?: boolean } = {},
  ): Promise<RemovedConnection | undefined> {
    return this.events.transaction(async (manager, record) => {
      const session = await this.lockSession(manager, connectionId, sessionId)
      if (!session) return undefined
      const streams = await manager.query<{ id: string }[]>(
        'SELECT id FROM stream WHERE connection_id = $1 ORDER BY created_at, id',
        [connectionId],
      )
      const leaving = this.events.isOn ? await this.departure(manager, session, connectionId, reason) : []
      const [removed] = await updated<{ status: string }>(
        manager,
        `DELETE FROM connection WHERE id = $1 AND (NOT $2 OR evict_at < clock_timestamp())
           AND ($3::text IS NULL OR status IN ('pending', 'active')) RETURNING status`,
        [connectionId, onlyOverdue, sessionId ?? null],
      )
      if (!removed) return undefined
      const wasActive = removed.status === 'active'
      await record(...leaving)
      const { uniqueSessionId: roomId, place } = session
      const ended = wasActive ? await this.endIfEmpty(manager, record, session, reason) : undefined
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

  /** The session of a connection, if it is that one, locked against all who come and go. */
  private async lockSession(
    manager: Manager,
    connectionId: string,
    sessionId?: string,
  ): Promise<(EventSession & { place: RoomPlace | null }) | undefined> {
    const [session] = await manager.query<(EventSession & { place: RoomPlace | null })[]>(
      `SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt",
              CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
                'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id, 'epoch', s.media_epoch) END AS place
       FROM session s WHERE s.id = (SELECT session_id FROM connection WHERE id = $1)
         AND ($2::text IS NULL OR s.id = $2) FOR UPDATE`,
      [connectionId, sessionId ?? null],
    )
    return session
  }

  /** With the last participant the session goes, unless its recording waits for others; the recordings it stopped then. */
  private async endIfEmpty(
    manager: EntityManager,
    record: Record,
    session: EventSession,
    reason: DisconnectReason,
  ): Promise<string[] | undefined> {
    if (await this.hasActive(manager, session.id)) return undefined
    if (await this.endHooks.keep(manager, session.uniqueSessionId, reason)) return undefined
    const [endReason, now] = [endedByLast(reason), this.clock.now()]
    const { events, recordingIds } = await this.endHooks.end(manager, session.uniqueSessionId, endReason, now)
    await record(...events, sessionDestroyed(session, endReason, now))
    await manager.query('DELETE FROM session WHERE id = $1', [session.id])
    return recordingIds
  }

  /** Whether a recording goes on without an end in sight: one that waits for who may come back has one. */
  private async isRecorded(manager: Manager, uniqueSessionId: string): Promise<boolean> {
    const rows = await manager.query<unknown[]>(
      `SELECT 1 FROM recording
       WHERE unique_session_id = $1 AND status IN ('starting', 'started') AND autostop_at IS NULL LIMIT 1`,
      [uniqueSessionId],
    )
    return rows.length > 0
  }

  private async hasActive(manager: Pick<DataSource['manager'], 'query'>, sessionId: string): Promise<boolean> {
    const rows = await manager.query<unknown[]>(
      `SELECT 1 FROM connection WHERE session_id = $1 AND status = 'active' LIMIT 1`,
      [sessionId],
    )
    return rows.length > 0
  }

  /** Who is in the session, as its clients see them, in the order they joined. */
  present(sessionId: string): Promise<ConnectionInfo[]> {
    return this.dataSource.query<ConnectionInfo[]>(
      `SELECT id AS "connectionId", active_at AS "createdAt", role, coalesce(client_data, '') AS "clientData",
              server_data AS "serverData"
       FROM connection WHERE session_id = $1 AND status = 'active' ORDER BY active_at, id`,
      [sessionId],
    )
  }

  async countActive(sessionId: string): Promise<number> {
    const [row] = await this.dataSource.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM connection WHERE session_id = $1 AND status = 'active'`,
      [sessionId],
    )
    return row?.count ?? 0
  }

  async activeAmong(sessionId: string, connectionIds: string[]): Promise<Set<string>> {
    const rows = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND id = ANY($2)`,
      [sessionId, connectionIds],
    )
    return new Set(rows.map(({ id }) => id))
  }
}
