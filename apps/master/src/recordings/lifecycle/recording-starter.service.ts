import {
  type RecordingInfo,
  type RecordingJob,
  type RecordingProperties,
  type RecordingStopReason,
  type Role,
  ServiceError,
  type StartRecordingOptions,
} from '@session-service/contract'
import { NotSentError } from '@session-service/messaging'
import { Inject, Injectable, InternalServerErrorException, Logger } from '@nestjs/common'
import { messageOf } from '@session-service/server-kit'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { isPaid } from '../../platform/config/edition.js'
import { noSuchSession } from '../../sessions/no-such-session.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { LayoutsService } from '../layouts/layouts.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingParts } from '../repository/recording-parts.js'
import { RecordingCreation } from '../repository/recording-creation.js'
import { decideProperties, isCustomLayout } from '../repository/recording-properties.js'
import { RecordingQueries } from '../repository/recording-queries.js'
import type { NewPart, RecordingRow } from '../repository/recording-row.js'
import { RecordingTransitions } from '../repository/recording-transitions.js'

/** Starts recordings on media nodes, and notifies clients of starts and stops. */
@Injectable()
export class RecordingStarter {
  readonly #logger = new Logger(RecordingStarter.name)

  constructor(
    private readonly queries: RecordingQueries,
    private readonly creation: RecordingCreation,
    private readonly transitions: RecordingTransitions,
    private readonly parts: RecordingParts,
    private readonly store: RecordingStore,
    private readonly layouts: LayoutsService,
    private readonly nodeCommands: NodeCommands,
    private readonly sessions: SessionsService,
    private readonly broadcast: SessionBroadcast,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Resolves once bytes are in a file. A start that is refused before a media node is asked leaves no row. */
  async start(sessionId: string, options: StartRecordingOptions): Promise<RecordingRow> {
    this.broadcast.requireBus()
    const decide = (defaults: RecordingProperties, id: string, place: RoomPlace): RecordingProperties => {
      const properties = decideProperties(defaults, options, id)
      this.#requireHostingNode({ ...properties, mediaNode: options.mediaNode }, place)
      return properties
    }
    return this.#startFirstPart(await this.creation.create(sessionId, decide))
  }

  /** Starts a recording of a session with the recording mode ALWAYS, once in its life. It never rejects. */
  async startAutomatically(sessionId: string): Promise<void> {
    if (!this.config.SERVICE_RECORDING) return
    try {
      const first = await this.creation.createAutomatic(sessionId)
      if (first) await this.#startFirstPart(first)
    } catch (error) {
      this.#logger.warn({ err: error, sessionId }, 'automatic recording could not be started')
    }
  }

  async #startFirstPart(first: NewPart): Promise<RecordingRow> {
    const { recording, part } = first
    try {
      await this.store.requireSpace()
      const startedAt = await this.#startOnNode(first)
      const autostop = this.config.SERVICE_RECORDING_AUTOSTOP_TIMEOUT
      const started = await this.transitions.markStarted(recording.id, part, startedAt, autostop)
      if (!started) throw new ServiceError('UNAVAILABLE', 'the session ended while its recording was starting')
      await this.#notifyStarted(started)
      return started
    } catch (error) {
      const hasEnded = await this.#hasSessionEnded(recording)
      await this.failStart(first, messageOf(error))
      throw hasEnded ? noSuchSession(recording.sessionId) : startFault(error)
    }
  }

  /** To be called before the cleanup of a failed start, which may end the session. */
  async #hasSessionEnded({ uniqueSessionId }: RecordingRow): Promise<boolean> {
    // Without the database the original error is the answer.
    return !(await this.sessions.isLive(uniqueSessionId).catch(() => true))
  }

  /** Deletes the recording, and stops the part on the media node, which may have started it. */
  async failStart(
    { recording, part, place }: Omit<NewPart, 'place'> & { place: { nodeId: string } },
    reason: string,
  ): Promise<void> {
    const { id } = recording
    this.#logger.warn({ recordingId: id, part }, `starting the recording failed: ${reason}`)
    try {
      await this.transitions.failStart(id, part, reason)
      await this.nodeCommands.notify(place, 'stopRecording', { recordingId: id, part })
      // Also when the recording ended with its session and another one has its id.
      if (!(await this.parts.exists(part))) await this.store.removePart(recording, part)
      // The session may have been kept for this recording alone.
      await this.sessions.closeEmpty(recording.uniqueSessionId, 'lastParticipantLeft')
    } catch (error) {
      this.#logger.warn({ err: error, recordingId: id }, 'cleaning up a failed start failed, will retry')
      await this.nodeCommands.notify(place, 'stopRecording', { recordingId: id, part })
    }
  }

  /**
   * Starts the next part of a recording. False when it failed, or the media node does not have the room yet, or was not
   * reached.
   */
  async startPart(next: NewPart): Promise<boolean> {
    const { recording, part } = next
    try {
      await this.parts.markStarted(part, await this.#startOnNode(next, { continues: true }))
      return true
    } catch (error) {
      if (isWithoutEffect(error)) {
        await this.parts.withdraw(part)
        return false
      }
      this.#logger.warn({ err: error, recordingId: recording.id, part }, 'continuing the recording failed')
      await this.transitions.endPart({ recordingId: recording.id, part, files: [], failure: messageOf(error) })
      await this.nodeCommands.notify(next.place, 'stopRecording', { recordingId: recording.id, part })
      return false
    }
  }

  /** Gives the time of the first media. */
  async #startOnNode(
    { recording, part, place }: NewPart,
    options: Pick<RecordingJob, 'continues'> = {},
  ): Promise<number> {
    const job: RecordingJob = {
      recordingId: recording.id,
      part,
      sessionId: recording.sessionId,
      roomId: recording.uniqueSessionId,
      epoch: place.epoch,
      ...options,
      hasAudio: recording.properties.hasAudio,
      hasVideo: recording.properties.hasVideo,
      output: await this.#output(recording),
      delivery: await this.store.delivery(recording, part),
    }
    return (await this.nodeCommands.request(place, 'startRecording', job)).startedAt
  }

  async #output({ sessionId, properties }: RecordingRow): Promise<RecordingJob['output']> {
    const { outputMode, ignoreFailedStreams, resolution, frameRate, recordingLayout, customLayout, shmSize } =
      properties
    if (outputMode === 'INDIVIDUAL') return { kind: 'INDIVIDUAL', ignoreFailedStreams }
    const [width = 0, height = 0] = resolution.split('x').map(Number)
    if (!isCustomLayout(properties)) {
      // CUSTOM without video: the layout has no effect.
      const layout = recordingLayout === 'CUSTOM' ? 'BEST_FIT' : recordingLayout
      // The free edition answers a stop with the finished file.
      const deferred = this.config.SERVICE_RECORDING_COMPOSITION === 'deferred' && isPaid(this.config)
      return { kind: 'COMPOSED', layout, width, height, frameRate, ...(deferred && { deferred }) }
    }
    const page = await this.layouts.page(sessionId, customLayout)
    return { kind: 'CUSTOM', page, width, height, frameRate, shmSize }
  }

  async #notifyStarted({ id, uniqueSessionId, sessionId, properties: { name } }: RecordingRow): Promise<void> {
    await this.#notifyClients(sessionId, (to) => {
      this.broadcast.notify(uniqueSessionId, { method: 'recordingStarted', params: { id, name } }, to)
    })
  }

  async notifyStopped(row: RecordingRow, reason: RecordingStopReason): Promise<void> {
    const { id, uniqueSessionId, sessionId, properties } = row
    const params = { id, name: properties.name, reason }
    await this.#notifyClients(sessionId, (to) => {
      this.broadcast.notify(uniqueSessionId, { method: 'recordingStopped', params }, to)
    })
  }

  /** Running recordings of the session; undefined for a role that is not notified of recordings. */
  running(sessionId: string, role: Role | null): Promise<RecordingInfo[] | undefined> {
    return this.queries.running(sessionId, role)
  }

  /** Whether the service keeps its recordings from the role. */
  isHidden(role: Role | null): boolean {
    return this.queries.isHidden(role)
  }

  /** Best effort: participants that join later read the snapshot. */
  async #notifyClients(sessionId: string, notify: (options: { to: string[] }) => void): Promise<void> {
    try {
      const to = await this.queries.notifiedConnections(sessionId)
      if (to.length > 0) notify({ to })
    } catch (error) {
      this.#logger.debug({ err: error, sessionId }, 'notifying clients of a recording failed')
    }
  }

  /**
   * Media is not relayed to another media node for its recorder, so a retry cannot succeed: a bad request, not a 503. The
   * default of a session is no condition: the session may be placed, or moved, elsewhere.
   */
  #requireHostingNode({ mediaNode, outputMode, hasVideo }: RecordingProperties, place: RoomPlace): void {
    const isForced = isPaid(this.config) && outputMode !== 'INDIVIDUAL' && hasVideo
    if (!isForced || mediaNode === undefined || mediaNode === place.nodeId) return
    throw new ServiceError(
      'INVALID',
      `mediaNode.id: media node ${mediaNode} cannot record the session: only ${place.nodeId}, which hosts it, can`,
    )
  }
}

/** The media node does not have the room yet, or has shut down since: nothing was recorded. */
const isWithoutEffect = (error: unknown): boolean =>
  error instanceof NotSentError ||
  (error instanceof ServiceError && (error.code === 'NOT_FOUND' || error.code === 'CONFLICT'))

/** The error of the request: a 503 that can be retried, or the failed start of the contract with its text. */
function startFault(error: unknown): Error {
  if (!(error instanceof ServiceError)) return error instanceof Error ? error : new Error(String(error))
  const { code, message } = error
  if (['NO_CAPACITY', 'UNAVAILABLE', 'TIMEOUT', 'DISABLED'].includes(code)) return error
  if (code === 'NOT_FOUND' || code === 'CONFLICT') return new ServiceError('UNAVAILABLE', message, { cause: error })
  return new InternalServerErrorException(`Error starting recording: ${message}`, { cause: error })
}
