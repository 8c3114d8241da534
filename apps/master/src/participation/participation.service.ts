import {
  type ConnectionInfo,
  type ForcedVideoCodec,
  newSecret,
  type NodeCommandResult,
  ServiceError,
  type SessionSnapshot,
  SIGNALLING_WINDOWS,
} from '@session-service/contract'
import { mapConcurrent } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../platform/config/configuration.module.js'
import { LocationsService } from './location/locations.service.js'
import { ConnectionsService } from '../connections/connections.service.js'
import { MasterMembership } from '../media-nodes/master-membership.js'
import { Job } from '../platform/jobs/job.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { RecordingStarter } from '../recordings/lifecycle/recording-starter.service.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { SessionRecovery } from '../recovery/session-recovery.service.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { StreamsService } from '../streams/streams.service.js'
import { digest } from '../tokens/tokens.service.js'
import { resolveLimits } from './bandwidth.js'
import { PresenceRepository } from '../connections/presence.repository.js'
import type { Participant } from '../connections/connection.records.js'
import { ParticipantRepository } from '../connections/participant.repository.js'

/** A node that died a moment ago still looks alive: with others at hand a new session does not wait for it, ms. */
const ELSEWHERE_AFTER_MS = 1_500

const DEAD_MASTERS_EVERY_MS = 1_000
/** A media node that does not answer delays the eviction of the others as little as possible. */
const CONCURRENT_EVICTIONS = 8

/** A participant that no node lets in after so many tries is told so. */
const MOST_TRIES = 6

/** What the server knows of the client that uses a token. */
export interface Arrival {
  clientData: string
  ip: string
  platform: string
}

export type Media = NodeCommandResult<'join'>

/** How a client comes in with its token, comes back on a new socket, and is let go when it does not. */
@Injectable()
export class ParticipationService {
  private readonly logger = new Logger(ParticipationService.name)

  constructor(
    private readonly participants: ParticipantRepository,
    private readonly presence: PresenceRepository,
    private readonly streams: StreamsService,
    private readonly sessions: SessionsService,
    private readonly placement: RoomPlacement,
    private readonly recovery: SessionRecovery,
    private readonly mediaNodes: MediaNodesService,
    private readonly channel: SessionBroadcast,
    private readonly connections: ConnectionsService,
    private readonly membership: MasterMembership,
    private readonly locations: LocationsService,
    private readonly recordings: RecordingStarter,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /** Takes the token, exactly once over all masters and sockets. UNAUTHENTICATED tells not which part was wrong. */
  async take(token: string, arrival: Arrival): Promise<{ participant: Participant; resumeKey: string }> {
    const resumeKey = newSecret()
    const participant = await this.participants.take(digest(token), {
      ...arrival,
      location: this.locations.of(arrival.ip),
      resumeHash: digest(resumeKey),
      masterId: this.masterId,
    })
    if (!participant) throw new ServiceError('UNAUTHENTICATED', 'the token is not valid')
    return { participant, resumeKey }
  }

  /** Opens the participant's transports on the session's node, which is chosen now if it has none. */
  async enter(participant: Participant): Promise<{ media: Media; place: RoomPlace }> {
    const refusedBefore = new Set<string>()
    for (let tries = 1; ; tries++) {
      const { place, isNew } = await this.placement.of(participant, refusedBefore)
      const mayGoElsewhere = isNew && participant.forcedNodeId === null && this.placement.hasAlternative(place.nodeId)
      // As the node is told it; a change meanwhile changes the participant too.
      const { record } = participant
      try {
        const media = await this.openTransports(place, participant, mayGoElsewhere)
        await this.correctRecord(participant, place, record)
        return { place, media }
      } catch (error) {
        if (!(error instanceof ServiceError) || tries === MOST_TRIES) throw error
        if (!(await this.mayTryAgain(participant, place, error, refusedBefore))) throw error
      }
    }
  }

  /** A change of `record` while the node was letting the participant in found nobody there to be changed. */
  private async correctRecord({ roomId, connectionId }: Participant, place: RoomPlace, told: boolean): Promise<void> {
    const record = (await this.participants.rights(connectionId))?.record ?? told
    if (record !== told) await this.mediaNodes.tell(place, 'changePeer', { roomId, connectionId, record })
  }

  /** After a node did not let the participant in: whether another may, or the one the session was moved to meanwhile. */
  private async mayTryAgain(
    participant: Participant,
    place: RoomPlace,
    { code, message }: ServiceError,
    refusedBefore: Set<string>,
  ): Promise<boolean> {
    const { roomId, sessionId } = participant
    if (code === 'CONFLICT' || code === 'NOT_FOUND') {
      return (await this.placement.current(roomId))?.epoch !== place.epoch
    }
    if (!['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT'].includes(code) || refusedBefore.has(place.nodeId)) return false
    this.logger.warn(`media node ${place.nodeId} did not take session ${sessionId}: ${message}`)
    refusedBefore.add(place.nodeId)
    const isFree = await this.placement.refused(participant, place)
    if (!isFree && code === 'NO_CAPACITY') await this.giveUpPlace(roomId, place)
    return true
  }

  /** Others are in the session too: if the node that refuses it does not hold their media either, they all go elsewhere. */
  private async giveUpPlace(roomId: string, place: RoomPlace): Promise<void> {
    const { rooms } = await this.mediaNodes.ask(place, 'inventory', {})
    if (rooms.some((room) => room.roomId === roomId && room.epoch === place.epoch)) return
    await this.recovery.mediaLost([{ roomId, place }], { reason: 'mediaServerDisconnect' })
  }

  private openTransports(
    place: RoomPlace,
    { roomId, connectionId, sessionId, ...participant }: Participant,
    mayGoElsewhere: boolean,
  ): Promise<Media> {
    const videoCodec: ForcedVideoCodec = participant.forcedVideoCodec
    const limits = this.limits(participant)
    const { record, clientData, serverData } = participant
    const params = {
      roomId,
      connectionId,
      sessionId,
      epoch: place.epoch,
      videoCodec,
      limits,
      record,
      clientData,
      serverData,
    }
    return this.mediaNodes.ask(place, 'join', params, mayGoElsewhere ? { timeoutMs: ELSEWHERE_AFTER_MS } : {})
  }

  limits({ mediaserverOptions }: Pick<Participant, 'mediaserverOptions'>): ReturnType<typeof resolveLimits> {
    return resolveLimits(mediaserverOptions, this.config)
  }

  /** The others learn that the participant is in. */
  announce(participant: Participant): void {
    const { roomId, connectionId, isHidden } = participant
    if (isHidden) return
    this.channel.notify(
      roomId,
      { method: 'connectionCreated', params: connectionInfo(participant) },
      { except: [connectionId] },
    )
  }

  /** The participant could not be let in: its token is good again, and whoever saw it come sees it go. */
  async rollbackJoin({ connectionId, roomId, isHidden }: Participant): Promise<void> {
    const { sessionEnded, place, recordingIds } = await this.participants.releaseToken(connectionId)
    if (isHidden) return
    this.channel.notify(
      roomId,
      { method: 'connectionDestroyed', params: { connectionId, reason: 'networkDisconnect' } },
      { except: [connectionId] },
    )
    if (sessionEnded) await this.sessions.release({ uniqueId: roomId, place, recordingIds })
  }

  /** `place` is null while the session's media is lost. */
  async resume(
    connectionId: string,
    resumeKey: string,
  ): Promise<{ participant: Participant; place: RoomPlace | null; lastSignalId: number | null }> {
    const resumed = await this.participants.resume(connectionId, digest(resumeKey), this.masterId)
    if (!resumed) throw new ServiceError('UNAUTHENTICATED', 'there is no such participant any more')
    const { lastSignalId, ...participant } = resumed
    return { participant, place: (await this.place(participant.roomId)) ?? null, lastSignalId }
  }

  /** Where the session's media is; undefined while it is lost, or when the session has ended. */
  place(roomId: string): Promise<RoomPlace | undefined> {
    return this.placement.current(roomId)
  }

  /** As a participant of the role is told. */
  async snapshot({ sessionId, role }: Pick<Participant, 'sessionId' | 'role'>): Promise<SessionSnapshot> {
    const [connections, streams, mediaEpoch, recordings] = await Promise.all([
      this.participants.present(sessionId),
      this.streams.present(sessionId),
      this.placement.mediaEpoch(sessionId),
      this.recordings.running(sessionId, role),
    ])
    return { connections, streams, mediaEpoch, ...(recordings && { recordings }) }
  }

  /** The socket, to which signals were sent up to `lastSignalId`, has been silent for `silentMs`: the participant has the rest of the window to come back. */
  lost(connectionId: string, silentMs: number, lastSignalId?: number): Promise<void> {
    const window = Math.max(SIGNALLING_WINDOWS.evict - silentMs, 0)
    return this.presence.markLost(connectionId, this.masterId, window, lastSignalId)
  }

  /** What was missed of sockets coming and going while the database was away, or this master taken for dead. */
  alignDeadlines(held: string[], speaking: string[]): Promise<void> {
    return this.presence.alignDeadlines(this.masterId, held, speaking, SIGNALLING_WINDOWS.evict)
  }

  found(connectionId: string): Promise<void> {
    return this.presence.markFound(connectionId, this.masterId)
  }

  @Job({ name: 'dead masters', scope: 'leader', everyMs: DEAD_MASTERS_EVERY_MS })
  async evictAfterDeadMasters(): Promise<void> {
    await this.membership.removeDeadMasters()
    // The participants of a dead master have the usual window to resume at another.
    await this.presence.markLostOfDeadMasters(SIGNALLING_WINDOWS.evict)
  }

  @Job({ name: 'evictions', scope: 'leader', everyMs: 0 })
  async evictOverdue(): Promise<void> {
    await mapConcurrent(await this.presence.overdue(), CONCURRENT_EVICTIONS, (id) =>
      this.connections.depart(id, 'networkDisconnect', true).catch((error: unknown) => {
        this.logger.warn({ err: error, connectionId: id }, 'a participant could not be evicted')
      }),
    )
  }
}

const connectionInfo = ({ connectionId, activeAt, role, clientData, serverData }: Participant): ConnectionInfo => ({
  connectionId,
  createdAt: activeAt,
  role,
  clientData,
  serverData,
})
