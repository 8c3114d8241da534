import {
  type CreateSessionBody,
  type HeldRoom,
  newSessionId,
  RecordingProperties,
  ServiceError,
  type SessionView,
  uniqueSessionId as uniqueSessionIdOf,
  type DisconnectReason,
} from '@session-service/contract'
import { mapConcurrent } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { isPaid } from '../platform/config/edition.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { NodeBoot, PlacedRoom } from '../media-nodes/room-place.js'
import { CreationTimes } from './creation-times.js'
import { noSuchSession } from './no-such-session.js'
import { SessionEndHooks } from './session-end-hooks.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { SessionMediaRepository, type BootFilter } from '../placement/session-media.repository.js'
import {
  type ClosedSession,
  type EmptyEnd,
  EXPIRED_DEPARTURE,
  SessionDeletionRepository,
} from './session-deletion.repository.js'
import { EXPIRED_SESSIONS, SessionRepository } from './session.repository.js'
import { sessionLimits } from './session-limits.js'
import { sessionView } from './session.view.js'

/** Sessions that one run of the job ends after their maximum duration. */
const EXPIRED_IN_A_RUN = 200

/** As many as one transaction deletes. Each may wait for a media node without answers. */
const CLOSED_AT_ONCE = 50

@Injectable()
export class SessionsService {
  readonly #logger = new Logger(SessionsService.name)
  readonly #creationTimes = new CreationTimes()

  constructor(
    private readonly sessions: SessionRepository,
    private readonly deletions: SessionDeletionRepository,
    private readonly media: SessionMediaRepository,
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly broadcast: SessionBroadcast,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async create(body: CreateSessionBody): Promise<SessionView> {
    this.#requireNodes(body)
    const id = body.customSessionId || newSessionId()
    const now = this.clock.now()
    const createdAt = body.customSessionId === '' ? now : this.#creationTimes.next(id, now)
    const session = {
      id,
      uniqueSessionId: uniqueSessionIdOf(id, createdAt),
      createdAt,
      mediaMode: body.mediaMode,
      recordingMode: body.recordingMode,
      hasCustomId: body.customSessionId !== '',
      forcedVideoCodec: body.forcedVideoCodec ?? this.config.SERVICE_STREAMS_FORCED_VIDEO_CODEC,
      allowTranscoding: body.allowTranscoding ?? this.config.SERVICE_STREAMS_ALLOW_TRANSCODING,
      recordingProperties: body.defaultRecordingProperties ?? legacyRecordingProperties(body),
      forcedNodeId: isPaid(this.config) ? (body.mediaNode?.id ?? null) : null,
      ...sessionLimits(body, this.config),
    }
    await this.sessions.insert(session)
    return sessionView({ ...session, mediaNodeId: null, isRecorded: false }, [])
  }

  #requireNodes({ mediaNode, defaultRecordingProperties }: CreateSessionBody): void {
    if (!isPaid(this.config)) return
    for (const [field, nodeId] of [
      ['mediaNode.id', mediaNode?.id],
      ['defaultRecordingProperties.mediaNode', defaultRecordingProperties?.mediaNode],
    ] as const) {
      const refusal = nodeId === undefined ? undefined : this.mediaNodes.refusalOf(nodeId)
      if (refusal !== undefined) throw new ServiceError('INVALID', `${field}: ${refusal}`)
    }
  }

  async require(id: string): Promise<void> {
    if (!(await this.sessions.exists(id))) throw noSuchSession(id)
  }

  /** Whether this use of a session id has not ended. */
  isLive(uniqueSessionId: string): Promise<boolean> {
    return this.sessions.isLive(uniqueSessionId)
  }

  /** Ends the live session with this id. */
  async close(id: string, reason: DisconnectReason): Promise<void> {
    this.broadcast.requireBus()
    const closed = await this.deletions.delete(id, reason)
    if (!closed) throw noSuchSession(id)
    await this.#announceEnd(closed, reason)
  }

  /** Ends one use of a session id. Does nothing when it has ended already. */
  async closeIfLive(uniqueSessionId: string, reason: DisconnectReason): Promise<void> {
    const closed = await this.deletions.deleteUse(uniqueSessionId, reason)
    if (closed) await this.#announceEnd(closed, reason)
  }

  /** Ends a session that lost its media, unless it has been placed again. */
  async closeWithMedia({ roomId, place }: PlacedRoom, reason: DisconnectReason, afterEventId?: string): Promise<void> {
    const use = { uniqueSessionId: roomId, epoch: place.epoch }
    const closed = await this.deletions.deleteWithMedia(use, reason, { after: afterEventId })
    if (closed) await this.#announceEnd({ ...closed, place: null }, reason)
  }

  /** Evicts participants one after another: each is notified of its own eviction and of those before. */
  async #announceEnd(closed: ClosedSession, reason: DisconnectReason): Promise<void> {
    for (const { connectionId, streamIds } of closed.participants) {
      this.broadcast.evict(closed.uniqueSessionId, connectionId, streamIds, reason)
    }
    await this.release(closed)
  }

  /** Stops recordings and closes the room, after the session's rows were deleted and its participants notified. */
  async release({
    uniqueSessionId,
    place,
    recordingIds,
  }: Pick<ClosedSession, 'uniqueSessionId' | 'place' | 'recordingIds'>): Promise<void> {
    await this.endHooks.stopped(recordingIds)
    if (place) await this.nodeCommands.notify(place, 'closeRoom', { roomId: uniqueSessionId, epoch: place.epoch })
  }

  placedOn(nodeId: string, boots?: BootFilter): Promise<PlacedRoom[]> {
    return this.media.placedOn(nodeId, boots)
  }

  /** The rooms of an inventory that the node should not hold. */
  strayRooms(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<HeldRoom[]> {
    return this.media.strayRooms(node, rooms)
  }

  /** Ends every session created until `createdUntil`, UTC ms. */
  async closeAll(createdUntil: number, reason: DisconnectReason): Promise<void> {
    const close = (uniqueSessionId: string): Promise<unknown> => this.closeIfLive(uniqueSessionId, reason)
    await this.#closeEach(await this.sessions.createdUntil(createdUntil), close)
  }

  /** Ends unused sessions that are older than the threshold of the garbage collection. */
  @Job({
    name: 'garbage collection',
    scope: 'leader',
    everyMs: ({ SERVICE_SESSIONS_GARBAGE_INTERVAL: seconds }) => (seconds === 0 ? undefined : seconds * 1_000),
    isSlow: true,
  })
  async closeUnused({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    const unused = await this.sessions.unused(this.config.SERVICE_SESSIONS_GARBAGE_THRESHOLD)
    await this.#closeEach(unused, async (uniqueSessionId) => {
      const closed = !isStopping() && (await this.deletions.deleteUnused(uniqueSessionId))
      if (closed) await this.release(closed)
    })
  }

  /** Ends sessions whose maximum duration has passed. Those that do not fit into one run follow with the next. */
  @Job({ name: 'session durations', scope: 'leader', everyMs: 0, due: EXPIRED_SESSIONS, isSlow: true })
  async closeExpired({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    await this.#closeEach(await this.sessions.expired(EXPIRED_IN_A_RUN), async (uniqueSessionId) => {
      const closed = !isStopping() && (await this.deletions.deleteExpired(uniqueSessionId))
      if (closed) await this.#announceEnd(closed, EXPIRED_DEPARTURE)
    })
  }

  /** A few at the same time. One that fails does not stop the others. */
  async #closeEach(ids: readonly string[], close: (uniqueSessionId: string) => Promise<unknown>): Promise<void> {
    await mapConcurrent(ids, CLOSED_AT_ONCE, (uniqueSessionId) =>
      close(uniqueSessionId).catch((error: unknown) => {
        this.#logger.warn({ err: error, uniqueSessionId }, 'ending the session failed')
      }),
    )
  }

  /**
   * Ends a session that only its recording kept, or that has no participants. Does nothing when it has clients, or cameras
   * and never had a client, or, for `lastParticipantLeft`, while it is being recorded.
   */
  async closeEmpty(uniqueSessionId: string, reason: EmptyEnd): Promise<void> {
    const closed = await this.deletions.deleteEmpty(uniqueSessionId, reason)
    if (closed) await this.release(closed)
  }
}

const DEFAULT_RECORDING_PROPERTIES = RecordingProperties.parse({})

/** The earlier shape of the body, where recording defaults were members of the session itself. */
function legacyRecordingProperties({
  defaultOutputMode: outputMode,
  defaultRecordingLayout: recordingLayout,
  defaultCustomLayout: customLayout,
}: CreateSessionBody): RecordingProperties {
  // Most bodies have none of them.
  if (outputMode === undefined && recordingLayout === undefined && customLayout === undefined)
    return DEFAULT_RECORDING_PROPERTIES
  return RecordingProperties.parse({ outputMode, recordingLayout, customLayout })
}
