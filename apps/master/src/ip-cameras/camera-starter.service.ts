import { type CameraTracks, ServiceError } from '@session-service/contract'
import { Inject, Injectable, Logger } from '@nestjs/common'
import type { CameraConnection } from '../connections/camera.repository.js'
import { FilterPublication } from '../filters/filter-publication.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { RoomAttempts } from '../placement/room-attempts.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { TranscriptionsService } from '../speech-to-text/transcriptions.service.js'
import { StreamRepository } from '../streams/stream.repository.js'
import { isUncertain, type PublishedFilter } from '../streams/streams.service.js'
import { cameraMediaOptions } from './camera-media-options.js'

/** A node that knows the tracks of a camera answers at once. */
const RESTART_TIMEOUT_MS = 4_000

export interface StartedCamera {
  tracks: CameraTracks
  /** The filter that the stream had before the loss of its media. */
  filter: PublishedFilter | undefined
  place: RoomPlace
}

/** Starts a camera on the media node of its session, and publishes its stream. */
@Injectable()
export class CameraStarter {
  readonly #logger = new Logger(CameraStarter.name)

  constructor(
    private readonly attempts: RoomAttempts,
    private readonly nodeCommands: NodeCommands,
    private readonly streams: StreamRepository,
    private readonly filters: FilterPublication,
    private readonly transcriptions: TranscriptionsService,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Places the session if it has no node. Waits for the camera unless its tracks are known. */
  async start(connection: CameraConnection): Promise<StartedCamera> {
    const { connectionId, camera } = connection
    const filter = await this.filters.ofFormer({ streamId: camera.streamId, connectionId })
    const { result: tracks, place } = await this.attempts.enter(connection, {
      run: (candidate) => this.#startAt(candidate, connection, filter),
    })
    this.transcriptions.entered(connection.roomId, place).catch((error: unknown) => {
      this.#logger.warn(
        { err: error, uniqueSessionId: connection.roomId },
        'starting the transcription failed, will retry',
      )
    })
    return { tracks, filter, place }
  }

  async #startAt(
    place: RoomPlace,
    connection: CameraConnection,
    filter: PublishedFilter | undefined,
  ): Promise<CameraTracks> {
    const { roomId, connectionId, sessionId, record, serverData, camera } = connection
    const { rtspUri: uri, networkCache, adaptativeBitrate, onlyPlayWithSubscribers, streamId, tracks } = camera
    const allowedAddresses = this.config.SERVICE_IPCAM_ALLOWED_ADDRESSES
    const params = {
      ...{ roomId, connectionId, sessionId, record, serverData, streamId },
      epoch: place.epoch,
      videoCodec: connection.forcedVideoCodec,
      allowTranscoding: connection.allowTranscoding,
      source: { uri, networkCache, adaptativeBitrate, onlyPlayWithSubscribers, allowedAddresses },
      ...(filter && { filter: filter.applied }),
    }
    try {
      return tracks
        ? await this.nodeCommands.request(
            place,
            'startCamera',
            { ...params, tracks },
            { timeoutMs: RESTART_TIMEOUT_MS },
          )
        : await this.nodeCommands.requestWhileAlive(place, 'startCamera', params)
    } catch (error) {
      // A node executes the commands of one connection in order.
      if (isUncertain(error)) void this.stop(place, connection, { returns: tracks !== null })
      throw error
    }
  }

  /** Removes the camera from the node. `returns`: it is a participant, and will be started again. */
  stop(
    place: RoomPlace,
    { roomId, connectionId }: Pick<CameraConnection, 'roomId' | 'connectionId'>,
    { returns = false } = {},
  ): Promise<void> {
    return this.nodeCommands.notify(place, 'leave', { roomId, connectionId, ...(returns && { returns }) })
  }

  /**
   * Inserts the stream and announces it. Does nothing when it exists already. @throws ServiceError NOT_FOUND when the
   * connection or the media of the session has ended meanwhile
   */
  async publish(connection: CameraConnection, { tracks, filter, place }: StartedCamera): Promise<void> {
    const { roomId, connectionId, sessionId, camera } = connection
    const { streamId, publicUri: rtspUri } = camera
    const mediaOptions = { ...cameraMediaOptions(camera, tracks), ...(filter && { filter: filter.view }) }
    const stream = { connectionId, createdAt: this.clock.now(), mediaOptions }
    try {
      await this.streams.insert({
        id: streamId,
        sessionId,
        mediaEpoch: place.epoch,
        maxStreams: null,
        rtspUri,
        ...stream,
      })
    } catch (error) {
      // Another master has started it as well.
      if (error instanceof ServiceError && error.code === 'CONFLICT') return
      throw error
    }
    this.broadcast.notify(roomId, {
      method: 'streamCreated',
      params: { streamId, ...stream, ...(camera.tracks && { returned: true }) },
    })
    if (filter) await this.filters.published(roomId, { streamId, connectionId }, filter.applied.filterId)
  }
}
