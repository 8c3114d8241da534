import { setTimeout } from 'node:timers/promises'
import {
  describeIssues,
  rangeFaults,
  type RecordingProperties,
  type RecordingView,
  ServiceError,
  SessionRef,
  StartRecordingOptions,
  type SessionView,
} from '@session-service/contract'
import { Inject, Injectable, type StreamableFile } from '@nestjs/common'
import { z } from 'zod'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { streamedList } from '../../platform/http/streamed-list.js'
import { SessionQueries } from '../../connections/session-queries.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { LayoutsService } from '../layouts/layouts.service.js'
import { RecordingFinalizer } from '../finalize/recording-finalizer.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingStarter } from '../lifecycle/recording-starter.service.js'
import { decideProperties, isCustomLayout } from '../repository/recording-properties.js'
import { RecordingReconciler } from '../lifecycle/recording-reconciler.service.js'
import { RecordingRepository, type RecordingRow } from '../repository/recording.repository.js'
import { recordingView } from '../repository/recording.view.js'

const Target = z.object({ session: SessionRef })

/** Where a stop is answered when the file is there: after this long with what there is then, ms. */
const FILE_MS = 60_000
const LOOK_EVERY_MS = 100

export const noSuchRecording = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no recording with the id ${id}`, { subject: 'recording' })

/** The recordings of sessions, as the REST interface has them. */
@Injectable()
export class RecordingsService {
  constructor(
    private readonly recordings: RecordingRepository,
    private readonly maker: RecordingStarter,
    private readonly work: RecordingReconciler,
    private readonly assembly: RecordingFinalizer,
    private readonly files: RecordingStore,
    private readonly layouts: LayoutsService,
    private readonly sessions: SessionsService,
    private readonly sessionQueries: SessionQueries,
    private readonly mediaNodes: MediaNodesService,
    private readonly channel: SessionBroadcast,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  get isEnabled(): boolean {
    return this.config.SERVICE_RECORDING
  }

  /** The checks are in the order of the lineage, so that of several faults the same one is told. */
  async start(body: unknown): Promise<RecordingView> {
    this.requireEnabled()
    const { session: sessionId } = read(Target, body)
    const session = await this.sessionQueries.get(sessionId)
    requireRecordable(session)
    const { defaults, isBeingMade } = await this.beforeStart(sessionId)
    if (isBeingMade) throw new ServiceError('CONFLICT', `session ${sessionId} is being recorded`)
    const options = read(StartRecordingOptions, body)
    const { hasAudio, hasVideo } = defaults
    const faults = rangeFaults({
      ...options,
      hasAudio: options.hasAudio ?? hasAudio,
      hasVideo: options.hasVideo ?? hasVideo,
    })
    if (faults.length > 0) throw new ServiceError('OUT_OF_RANGE', faults.join('; '))
    const { mediaNode } = options
    if (this.isPaid && mediaNode !== undefined && !this.mediaNodes.isKnown(mediaNode)) {
      throw new ServiceError('INVALID', `mediaNode.id: no media node with the id ${mediaNode}`)
    }
    // Before anything is begun: a layout that cannot be had leaves no trace of a recording.
    const decided = decideProperties(defaults, options, sessionId)
    if (isCustomLayout(decided)) await this.layouts.require(decided.customLayout)
    return this.view(await this.maker.start(sessionId, options))
  }

  private async beforeStart(sessionId: string): Promise<{ defaults: RecordingProperties; isBeingMade: boolean }> {
    const found = await this.recordings.beforeStart(sessionId)
    if (!found) throw new ServiceError('NOT_FOUND', `no session with the id ${sessionId}`, { subject: 'session' })
    return found
  }

  /** `isFileAwaited`: answered when the file is there, or after a minute. */
  async stop(id: string, isFileAwaited = !this.isPaid): Promise<RecordingView> {
    const row = await this.require(id)
    this.channel.requireBus()
    requireStarted(row)
    const stopped = await this.work.stop(id, 'recordingStoppedByServer')
    if (!stopped) {
      requireStarted(await this.require(id))
      throw new ServiceError('CONFLICT', `recording ${id} is being changed`)
    }
    await this.sessions.closeEmpty(stopped.uniqueSessionId, 'lastParticipantLeft')
    return this.view(isFileAwaited ? await this.finished(stopped) : stopped)
  }

  async get(id: string): Promise<RecordingView> {
    return this.view(await this.require(id))
  }

  /** All of them, as a stream of JSON; `shape` makes of each what the caller shows. */
  list(shape: (recording: RecordingView) => object = (recording) => recording): Promise<StreamableFile> {
    this.requireEnabled()
    return streamedList(
      (after) => this.recordings.page(after),
      (row) => shape(this.view(row)),
      { items: 'items', count: 'count' },
    )
  }

  async delete(id: string): Promise<void> {
    this.requireEnabled()
    const row = await this.recordings.remove(id)
    if (!row) throw noSuchRecording(id)
    await this.assembly.remove(row)
  }

  private async finished(stopped: RecordingRow): Promise<RecordingRow> {
    for (const deadline = performance.now() + FILE_MS; performance.now() < deadline && !this.assembly.isStopping;) {
      const row = await this.recordings.find(stopped.id)
      if (row?.status !== 'stopped') return row ?? stopped
      await setTimeout(LOOK_EVERY_MS)
    }
    return stopped
  }

  private async require(id: string): Promise<RecordingRow> {
    this.requireEnabled()
    const row = await this.recordings.find(id)
    if (!row) throw noSuchRecording(id)
    return row
  }

  private get isPaid(): boolean {
    return this.config.SERVICE_EDITION !== 'ce'
  }

  private view(row: RecordingRow): RecordingView {
    return recordingView(row, row.file === null ? null : this.files.url({ ...row, file: row.file }), this.isPaid)
  }

  private requireEnabled(): void {
    if (!this.isEnabled) throw new ServiceError('DISABLED', 'recording is switched off (SERVICE_RECORDING)')
  }
}

function requireRecordable({ id, connections, mediaMode }: SessionView): void {
  if (connections.numberOfElements === 0) throw new ServiceError('NOT_READY', `nobody is in the session ${id}`)
  if (mediaMode !== 'ROUTED') throw new ServiceError('CONFLICT', `the media of session ${id} is not ROUTED`)
}

function requireStarted({ id, status }: RecordingRow): void {
  if (status === 'starting') throw new ServiceError('NOT_READY', `recording ${id} is starting`)
  if (status !== 'started') throw new ServiceError('CONFLICT', `recording ${id} is not being made: it is ${status}`)
}

function read<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(body ?? {})
  if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
  return result.data
}
