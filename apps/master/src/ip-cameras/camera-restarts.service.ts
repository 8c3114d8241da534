import { ServiceError } from '@session-service/contract'
import { mapConcurrent, messageOf } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import {
  type CameraConnection,
  CameraRepository,
  type PublishedCamera,
  STOPPED_CAMERAS,
} from '../connections/camera.repository.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { Job } from '../platform/jobs/job.js'
import { RecordingStarter } from '../recordings/lifecycle/recording-starter.service.js'
import { StreamsService } from '../streams/streams.service.js'
import { withoutSecretsOf } from './camera-address.js'
import { CameraStarter } from './camera-starter.service.js'

const CONCURRENCY = 16

/**
 * Starts the cameras without a stream again: after the loss of a media node, and after failures. The rows contain all
 * state; a claim ensures that one master starts each camera.
 */
@Injectable()
export class CameraRestarts implements OnModuleDestroy {
  readonly #logger = new Logger(CameraRestarts.name)
  readonly #pending = new Set<Promise<void>>()

  constructor(
    private readonly cameras: CameraRepository,
    private readonly starter: CameraStarter,
    private readonly streams: StreamsService,
    private readonly recordings: RecordingStarter,
    private readonly broadcast: SessionBroadcast,
  ) {}

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** In the background: other jobs must not wait for media nodes that do not answer. */
  @Job({ name: 'cameras', scope: 'leader', everyMs: 0, due: STOPPED_CAMERAS })
  async restartAll(): Promise<void> {
    if (this.#pending.size === 0) this.restartSoon()
  }

  /** Starts the stopped cameras now, those of these rooms or of all, in the background. */
  restartSoon(roomIds?: readonly string[]): void {
    const run = this.#restart(roomIds)
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'restarting cameras failed, will retry'))
      .finally(() => this.#pending.delete(run))
    this.#pending.add(run)
  }

  /** The cameras that a process of a media node should have. */
  publishedOn({ nodeId, bootId }: NodeBoot): Promise<PublishedCamera[]> {
    return this.cameras.publishedOn(nodeId, bootId)
  }

  /** Ends the streams of cameras that their media node does not have, and starts the cameras again. */
  async replace(lost: readonly PublishedCamera[]): Promise<void> {
    if (lost.length === 0) return
    for (const camera of lost) {
      this.#logger.warn({ connectionId: camera.connectionId }, 'the media node has lost a camera, restarting it')
      await this.streams.endMediaOf(camera)
    }
    this.restartSoon(lost.map(({ roomId }) => roomId))
  }

  async #restart(roomIds?: readonly string[]): Promise<void> {
    for (;;) {
      const claimed = await this.cameras.claimStopped(roomIds)
      if (claimed.length === 0) return
      await mapConcurrent(claimed, CONCURRENCY, (connection) => this.#restartOne(connection))
    }
  }

  /** It never rejects: a restart that fails is repeated. */
  async #restartOne(connection: CameraConnection): Promise<void> {
    const { connectionId, sessionId, recordingMode } = connection
    try {
      await this.#setRestarting(connection, 'the media of the session was lost', { isNewAttempt: true })
      const started = await this.starter.start(connection)
      await this.starter.publish(connection, started).catch(async (error: unknown) => {
        const hasEnded = error instanceof ServiceError && error.code === 'NOT_FOUND'
        await this.starter.stop(started.place, connection, { returns: !hasEnded })
        throw error
      })
      await this.cameras.release(connectionId, { hasFailed: false })
      if (recordingMode === 'ALWAYS') void this.recordings.startAutomatically(sessionId)
    } catch (error) {
      const reason = withoutSecretsOf(connection.camera.rtspUri, messageOf(error))
      await this.#failed(connection, reason).catch((failure: unknown) => {
        this.#logger.warn({ err: failure, connectionId }, 'storing the failure of a camera failed')
      })
    }
  }

  async #failed(connection: CameraConnection, reason: string): Promise<void> {
    const { connectionId } = connection
    await this.cameras.release(connectionId, { hasFailed: true })
    const hasChanged = await this.#setRestarting(connection, reason, { isNewAttempt: false })
    if (hasChanged) this.#logger.warn({ connectionId }, `restarting a camera failed, will retry: ${reason}`)
  }

  /** The media node reports the state when it has started the camera. */
  async #setRestarting(
    { roomId, connectionId }: CameraConnection,
    error: string,
    attempt: { isNewAttempt: boolean },
  ): Promise<boolean> {
    const hasChanged = await this.cameras.setRestarting(connectionId, error, attempt)
    if (!hasChanged) return false
    const params = { connectionId, status: 'reconnecting', error } as const
    this.broadcast.notify(roomId, { method: 'cameraStatusChanged', params })
    return true
  }
}
