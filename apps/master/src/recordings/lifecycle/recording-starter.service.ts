import {
  type RecordingInfo,
  type RecordingJob,
  type RecordingProperties,
  type RecordingStopReason,
  type Role,
  ServiceError,
  type StartRecordingOptions,
} from '@session-service/contract'
import { Inject, Injectable, InternalServerErrorException, Logger } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { LayoutsService } from '../layouts/layouts.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { decideProperties, isCustomLayout } from '../repository/recording-properties.js'
import { type NewPart, RecordingRepository, type RecordingRow } from '../repository/recording.repository.js'

/** Has recordings begun and ended on media nodes, and tells clients of it. */
@Injectable()
export class RecordingStarter {
  private readonly logger = new Logger(RecordingStarter.name)

  constructor(
    private readonly recordings: RecordingRepository,
    private readonly files: RecordingStore,
    private readonly layouts: LayoutsService,
    private readonly mediaNodes: MediaNodesService,
    private readonly sessions: SessionsService,
    private readonly channel: SessionBroadcast,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Resolves once bytes are in a file. What refuses the start before a node is asked leaves no trace of it. */
  async start(sessionId: string, options: StartRecordingOptions): Promise<RecordingRow> {
    this.channel.requireBus()
    const decide = (defaults: RecordingProperties, id: string, place: RoomPlace): RecordingProperties => {
      const properties = decideProperties(defaults, options, id)
      this.requireItsNode(properties, place)
      return properties
    }
    return this.begin(await this.recordings.begin(sessionId, decide, false))
  }

  /** For the recording mode ALWAYS, once in a session's life; of a failure only the event tells. */
  async startAutomatically(sessionId: string): Promise<void> {
    if (!this.config.SERVICE_RECORDING) return
    try {
      if (!(await this.recordings.takeAutomaticStart(sessionId))) return
      const decide = (defaults: RecordingProperties, id: string): RecordingProperties =>
        decideProperties(defaults, {}, id)
      await this.begin(await this.recordings.begin(sessionId, decide, true))
    } catch (error) {
      this.logger.warn({ err: error, sessionId }, 'a session that is always recorded is not')
    }
  }

  private async begin(asked: NewPart): Promise<RecordingRow> {
    const { recording, part } = asked
    try {
      await this.files.requireSpace()
      const startedAt = await this.ask(asked)
      const autostop = this.config.SERVICE_RECORDING_AUTOSTOP_TIMEOUT
      const started = await this.recordings.started(recording.id, part, startedAt, autostop)
      if (!started) throw new ServiceError('UNAVAILABLE', 'the session ended while its recording was starting')
      await this.tellStarted(started)
      return started
    } catch (error) {
      await this.giveUpStart(asked, textOf(error))
      throw startFault(error)
    }
  }

  /** There is no such recording any more; the node lets go of what it may have begun. */
  async giveUpStart(
    { recording, part, place }: Omit<NewPart, 'place'> & { place: { nodeId: string } },
    why: string,
  ): Promise<void> {
    const { id } = recording
    this.logger.warn({ recordingId: id, part }, `a recording could not be started: ${why}`)
    try {
      await this.recordings.startFailed(id, part, why)
      await this.mediaNodes.tell(place, 'stopRecording', { recordingId: id, part })
      // Also of one that ended with its session, whoever has its id by now.
      if (!(await this.recordings.hasPart(part))) await this.files.removePart(recording, part)
      // The last one has left meanwhile: only for this recording the session was kept.
      await this.sessions.closeEmpty(recording.uniqueSessionId, 'lastParticipantLeft')
    } catch (error) {
      this.logger.warn({ err: error, recordingId: id }, 'a failed start is seen to later')
      await this.mediaNodes.tell(place, 'stopRecording', { recordingId: id, part })
    }
  }

  /** Whether the next part was begun; false while the node does not have the room yet. */
  async startPart(asked: NewPart): Promise<boolean> {
    const { recording, part } = asked
    try {
      await this.recordings.partStarted(part, await this.ask(asked))
      return true
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : 'INTERNAL'
      if (code === 'NOT_FOUND' || code === 'CONFLICT') {
        await this.recordings.takeBackPart(part)
        return false
      }
      this.logger.warn({ err: error, recordingId: recording.id, part }, 'a recording could not be continued')
      await this.recordings.partEnded({ recordingId: recording.id, part, files: [], failure: textOf(error) })
      await this.mediaNodes.tell(asked.place, 'stopRecording', { recordingId: recording.id, part })
      return false
    }
  }

  private async ask({ recording, part, place }: NewPart): Promise<number> {
    const job: RecordingJob = {
      recordingId: recording.id,
      part,
      sessionId: recording.sessionId,
      roomId: recording.uniqueSessionId,
      epoch: place.epoch,
      hasAudio: recording.properties.hasAudio,
      hasVideo: recording.properties.hasVideo,
      output: await this.output(recording),
      delivery: await this.files.delivery(recording, part),
    }
    return (await this.mediaNodes.ask(place, 'startRecording', job)).startedAt
  }

  private async output({ sessionId, properties }: RecordingRow): Promise<RecordingJob['output']> {
    const { outputMode, ignoreFailedStreams, resolution, frameRate, recordingLayout, customLayout, shmSize } =
      properties
    if (outputMode === 'INDIVIDUAL') return { kind: 'INDIVIDUAL', ignoreFailedStreams }
    const [width = 0, height = 0] = resolution.split('x').map(Number)
    if (!isCustomLayout(properties)) {
      // Of a sound alone nothing is laid out.
      const layout = recordingLayout === 'CUSTOM' ? 'BEST_FIT' : recordingLayout
      return { kind: 'COMPOSED', layout, width, height, frameRate }
    }
    const page = await this.layouts.page(sessionId, customLayout)
    return { kind: 'CUSTOM', page, width, height, frameRate, shmSize }
  }

  async tellStarted({ id, uniqueSessionId, sessionId, properties: { name } }: RecordingRow): Promise<void> {
    await this.tellClients(sessionId, (to) => {
      this.channel.notify(uniqueSessionId, { method: 'recordingStarted', params: { id, name } }, to)
    })
  }

  async tellStopped(row: RecordingRow, reason: RecordingStopReason): Promise<void> {
    const { id, uniqueSessionId, sessionId, properties } = row
    const params = { id, name: properties.name, reason }
    await this.tellClients(sessionId, (to) => {
      this.channel.notify(uniqueSessionId, { method: 'recordingStopped', params }, to)
    })
  }

  /** What is recorded of the session now, for a participant of the role; undefined for who is not told of it. */
  running(sessionId: string, role: Role | null): Promise<RecordingInfo[]> | undefined {
    return this.recordings.running(sessionId, role)
  }

  /** A hint: whoever joins is told by the snapshot. */
  private async tellClients(sessionId: string, tell: (who: { to: string[] }) => void): Promise<void> {
    try {
      const to = await this.recordings.listeners(sessionId)
      if (to.length > 0) tell({ to })
    } catch (error) {
      this.logger.debug({ err: error }, 'clients were not told of a recording')
    }
  }

  /** Media is not relayed to another node for its recorder, so a retry cannot succeed: a bad request, not a 503. */
  private requireItsNode({ mediaNode, outputMode, hasVideo }: RecordingProperties, place: RoomPlace): void {
    const isMeant = this.config.SERVICE_EDITION !== 'ce' && outputMode !== 'INDIVIDUAL' && hasVideo
    if (!isMeant || mediaNode === undefined || mediaNode === place.nodeId) return
    throw new ServiceError(
      'INVALID',
      `mediaNode.id: media node ${mediaNode} cannot record the session: only ${place.nodeId}, which hosts it, can`,
    )
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Worth another try later, or what the contract calls a failed start, whose text is told. */
function startFault(error: unknown): Error {
  if (!(error instanceof ServiceError)) return error instanceof Error ? error : new Error(String(error))
  const { code, message } = error
  if (['NO_CAPACITY', 'UNAVAILABLE', 'TIMEOUT', 'DISABLED'].includes(code)) return error
  if (code === 'NOT_FOUND' || code === 'CONFLICT') return new ServiceError('UNAVAILABLE', message, { cause: error })
  return new InternalServerErrorException(`Error starting recording: ${message}`, { cause: error })
}
