import type { NodeCommandParams, NodeCommandResult } from '@session-service/contract'
import { Inject, Injectable, Logger } from '@nestjs/common'
import type { Participant } from '../connections/connection.records.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { measurementIntervalMs } from '../network-quality/measurement-interval.js'
import { RoomAttempts } from '../placement/room-attempts.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { SessionRecovery } from '../recovery/session-recovery.service.js'
import { TranscriptionsService } from '../speech-to-text/transcriptions.service.js'
import { resolveLimits } from './bandwidth.js'
import { observeJoinStep } from './join-metrics.js'

/**
 * The timeout of a node's answer when a new session can go to another node, ms: a node that has just died still counts
 * as alive.
 */
const FAILOVER_TIMEOUT_MS = 1_500

/** The transports of a participant on a media node. */
export type OpenedTransports = NodeCommandResult<'join'>
/** The media parameters of a participant with a transport for each stream. */
export type PerStreamMedia = NodeCommandResult<'joinPerStream'>

type OpenOn<Media> = (
  place: RoomPlace,
  params: NodeCommandParams<'join'>,
  options: { timeoutMs?: number },
) => Promise<Media>

/** Opens a participant's media in the room of its session, on another node when the first one refuses. */
@Injectable()
export class RoomEntry {
  readonly #logger = new Logger(RoomEntry.name)

  constructor(
    private readonly participants: ParticipantRepository,
    private readonly attempts: RoomAttempts,
    private readonly recovery: SessionRecovery,
    private readonly nodeCommands: NodeCommands,
    private readonly transcriptions: TranscriptionsService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Places the session first if it has no node. `requireWanted`: called before each command; throws to end it. */
  enter(participant: Participant, requireWanted?: () => void): Promise<{ media: OpenedTransports; place: RoomPlace }> {
    const open: OpenOn<OpenedTransports> = (place, params, options) =>
      this.nodeCommands.request(place, 'join', params, options)
    return this.#enter(participant, open, requireWanted)
  }

  /**
   * As `enter`, for a client that uses another transport for each stream. The node does not pause its muted video: the
   * client sends black pictures.
   */
  enterPerStream(
    participant: Participant,
    requireWanted?: () => void,
  ): Promise<{ media: PerStreamMedia; place: RoomPlace }> {
    const open: OpenOn<PerStreamMedia> = (place, params, options) =>
      this.nodeCommands.request(place, 'joinPerStream', { ...params, mutedVideo: 'forwarded' }, options)
    return this.#enter(participant, open, requireWanted)
  }

  async #enter<Media>(
    participant: Participant,
    open: OpenOn<Media>,
    requireWanted?: () => void,
  ): Promise<{ media: Media; place: RoomPlace }> {
    const startedAt = performance.now()
    let commandMs = 0
    const { result: media, place } = await this.attempts.enter(participant, {
      run: async (candidate, canFailOver) => {
        // The value that the node gets: a concurrent change of the rights also changes the participant.
        const { record } = participant
        const commandAt = performance.now()
        const options = canFailOver ? { timeoutMs: FAILOVER_TIMEOUT_MS } : {}
        const opened = await open(candidate, this.#paramsOf(participant, candidate), options)
        commandMs = performance.now() - commandAt
        await this.#correctRecord(participant, candidate, record)
        this.#transcribe(participant, candidate)
        return opened
      },
      requireWanted,
      onFull: (refused) => this.#moveRefusedSession(participant.roomId, refused),
    })
    observeJoinStep('media_node', commandMs)
    observeJoinStep('placement', performance.now() - startedAt - commandMs)
    return { media, place }
  }

  /** Repeats a change of `record` that failed because the participant was not on the node yet. */
  async #correctRecord({ roomId, connectionId }: Participant, place: RoomPlace, sent: boolean): Promise<void> {
    const record = (await this.participants.rights(connectionId))?.record ?? sent
    if (record !== sent) await this.nodeCommands.notify(place, 'changePeer', { roomId, connectionId, record })
  }

  /** Does not delay the join; the reconciliation repeats it after a failure. */
  #transcribe({ roomId }: Participant, place: RoomPlace): void {
    this.transcriptions.entered(roomId, place).catch((error: unknown) => {
      this.#logger.warn({ err: error, uniqueSessionId: roomId }, 'starting the transcription failed, will retry')
    })
  }

  /** Moves a session with other participants away from the node that refuses it, unless the node has their media. */
  async #moveRefusedSession(roomId: string, place: RoomPlace): Promise<void> {
    const { rooms } = await this.nodeCommands.request(place, 'inventory', {})
    if (rooms.some((room) => room.roomId === roomId && room.epoch === place.epoch)) return
    await this.recovery.mediaLost([{ roomId, place }], { reason: 'mediaServerDisconnect' })
  }

  #paramsOf(participant: Participant, place: RoomPlace): NodeCommandParams<'join'> {
    const { roomId, connectionId, sessionId, record, clientData, serverData } = participant
    return {
      roomId,
      connectionId,
      sessionId,
      epoch: place.epoch,
      videoCodec: participant.forcedVideoCodec,
      allowTranscoding: participant.allowTranscoding,
      limits: resolveLimits(participant.mediaserverOptions, this.config),
      record,
      clientData,
      serverData,
      networkQualityMs: measurementIntervalMs(this.config),
    }
  }
}
