import {
  rangeFaults,
  type RecordingView,
  ServiceError,
  SessionRef,
  StartRecordingOptions,
  type SessionView,
} from '@session-service/contract'
import { poll } from '@session-service/server-kit'
import { Inject, Injectable, type StreamableFile } from '@nestjs/common'
import { z } from 'zod'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { isPaid } from '../../platform/config/edition.js'
import { parseBody } from '../../platform/http/parsing/parsed.js'
import { type ListFormat, PLAIN_FORMAT, streamedList } from '../../platform/http/answers/streamed-list.js'
import type { Viewer } from '../../platform/http/access/viewer.js'
import { SessionQueries } from '../../connections/session-queries.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { noSuchSession } from '../../sessions/no-such-session.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { LayoutsService } from '../layouts/layouts.service.js'
import { RecordingFinalizer } from '../finalize/recording-finalizer.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingStarter } from '../lifecycle/recording-starter.service.js'
import { decideProperties, isCustomLayout } from '../repository/recording-properties.js'
import { RecordingReconciler } from '../lifecycle/recording-reconciler.service.js'
import { RecordingQueries, type StartContext } from '../repository/recording-queries.js'
import type { RecordingRow } from '../repository/recording-row.js'
import { RecordingRemovals } from '../repository/recording-removals.js'
import { recordingView } from '../repository/recording.view.js'

const Target = z.object({ session: SessionRef })

/** The longest wait of a stop that is answered with the file, ms: long recordings on slow disks take minutes. */
const FILE_TIMEOUT_MS = 600_000
const FILE_POLL_MS = 100

export const noSuchRecording = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no recording with the id ${id}`, { subject: 'recording' })

/** Starts, stops, lists and deletes recordings for the REST interface. */
@Injectable()
export class RecordingsService {
  constructor(
    private readonly queries: RecordingQueries,
    private readonly removals: RecordingRemovals,
    private readonly starter: RecordingStarter,
    private readonly reconciler: RecordingReconciler,
    private readonly finalizer: RecordingFinalizer,
    private readonly store: RecordingStore,
    private readonly layouts: LayoutsService,
    private readonly sessions: SessionsService,
    private readonly sessionQueries: SessionQueries,
    private readonly mediaNodes: MediaNodesService,
    private readonly broadcast: SessionBroadcast,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  get isEnabled(): boolean {
    return this.config.SERVICE_RECORDING
  }

  /** The checks have the order of the lineage, so that a request with several faults gets the same answer. */
  async start(body: unknown): Promise<RecordingView> {
    const { session: sessionId } = parseBody(Target, body)
    const session = await this.sessionQueries.get(sessionId)
    requireRecordable(session)
    const { defaults, isRecording } = await this.#startContext(sessionId)
    if (isRecording) throw new ServiceError('CONFLICT', `session ${sessionId} is being recorded`)
    const options = parseBody(StartRecordingOptions, body)
    const { hasAudio, hasVideo } = defaults
    const faults = rangeFaults({
      ...options,
      hasAudio: options.hasAudio ?? hasAudio,
      hasVideo: options.hasVideo ?? hasVideo,
    })
    if (faults.length > 0) throw new ServiceError('OUT_OF_RANGE', faults.join('; '))
    const { mediaNode } = options
    const isOther = isPaid(this.config) && mediaNode !== undefined && mediaNode !== session.mediaNodeId
    if (isOther && !this.mediaNodes.isKnown(mediaNode)) {
      throw new ServiceError('INVALID', `mediaNode.id: no media node with the id ${mediaNode}`)
    }
    // Before the row is inserted: a layout that does not exist leaves no trace of a recording.
    const decided = decideProperties(defaults, options, sessionId)
    if (isCustomLayout(decided)) await this.layouts.require(decided.customLayout)
    return this.#view(await this.starter.start(sessionId, options))
  }

  async #startContext(sessionId: string): Promise<StartContext> {
    const found = await this.queries.startContext(sessionId)
    if (!found) throw noSuchSession(sessionId)
    return found
  }

  /** `waitsForFile`: resolves when the file is finished, or after FILE_TIMEOUT_MS. */
  async stop(id: string, { waitsForFile = !isPaid(this.config) } = {}): Promise<RecordingView> {
    const row = await this.#require(id)
    this.broadcast.requireBus()
    requireStarted(row)
    const stopped = await this.reconciler.stop(id, 'recordingStoppedByServer')
    if (!stopped) {
      requireStarted(await this.#require(id))
      throw new ServiceError('CONFLICT', `recording ${id} is being changed`)
    }
    await this.sessions.closeEmpty(stopped.uniqueSessionId, 'lastParticipantLeft')
    return this.#view(waitsForFile ? await this.#finished(stopped) : stopped)
  }

  async get(id: string): Promise<RecordingView> {
    return this.#view(await this.#require(id))
  }

  /** All recordings of the viewer, as a stream of JSON. */
  list({ prefix }: Viewer, format: ListFormat<RecordingView> = PLAIN_FORMAT): Promise<StreamableFile> {
    return streamedList({
      key: ['recordings', prefix, format.name],
      readPage: (after) => this.queries.page(prefix, after),
      view: (row) => format.convert(this.#view(row)),
      names: { items: 'items', count: 'count' },
    })
  }

  async delete(id: string): Promise<void> {
    const row = await this.removals.remove(id)
    if (!row) throw noSuchRecording(id)
    await this.finalizer.remove(row)
  }

  /** A recording as REST shows it. */
  shown(row: RecordingRow): RecordingView {
    return this.#view(row)
  }

  /** The row once the recording is no longer `stopped`; as it was when the master stops or the wait times out. */
  async #finished(stopped: RecordingRow): Promise<RecordingRow> {
    const probe = async (): Promise<RecordingRow | undefined> => {
      if (this.finalizer.isStopping) return stopped
      const row = await this.queries.find(stopped.id)
      return row?.status === 'stopped' ? undefined : (row ?? stopped)
    }
    // The recording is stopped: after an error, the client would repeat the stop and get CONFLICT.
    const patient = (): Promise<RecordingRow | undefined> => probe().catch(() => undefined)
    return (await poll(patient, { everyMs: FILE_POLL_MS, timeoutMs: FILE_TIMEOUT_MS })) ?? stopped
  }

  async #require(id: string): Promise<RecordingRow> {
    const row = await this.queries.find(id)
    if (!row) throw noSuchRecording(id)
    return row
  }

  #view(row: RecordingRow): RecordingView {
    return recordingView(
      row,
      row.file === null ? null : this.store.url({ ...row, file: row.file }),
      isPaid(this.config),
    )
  }
}

function requireRecordable({ id, connections, mediaMode }: SessionView): void {
  if (connections.numberOfElements === 0) throw new ServiceError('NOT_READY', `session ${id} has no participants`)
  if (mediaMode !== 'ROUTED') throw new ServiceError('CONFLICT', `the media of session ${id} is not ROUTED`)
}

function requireStarted({ id, status }: RecordingRow): void {
  if (status === 'starting') throw new ServiceError('NOT_READY', `recording ${id} is starting`)
  if (status !== 'started') throw new ServiceError('CONFLICT', `recording ${id} is not started: it is ${status}`)
}
