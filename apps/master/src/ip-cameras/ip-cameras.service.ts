import {
  type ConnectionView,
  type CreateConnectionBody,
  newConnectionId,
  newStreamId,
  ServiceError,
} from '@session-service/contract'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { type Camera, cameraMembers, type CameraState } from '../connections/camera.js'
import {
  type ActivatedCamera,
  type CameraConnection,
  CameraRepository,
  type NewCamera,
} from '../connections/camera.repository.js'
import { ConnectionsService } from '../connections/connections.service.js'
import { LocationsService } from '../participation/location/locations.service.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../platform/config/configuration.module.js'
import { isRecorded } from '../platform/config/edition.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { RecordingStarter } from '../recordings/lifecycle/recording-starter.service.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import { cameraAddress, withoutSecretsOf } from './camera-address.js'
import { CameraStarter, type StartedCamera } from './camera-starter.service.js'
import { addressOf } from './host-address.js'

/** Creates connections of cameras on the network. */
@Injectable()
export class IpCamerasService {
  readonly #logger = new Logger(IpCamerasService.name)

  constructor(
    private readonly cameras: CameraRepository,
    private readonly connections: ConnectionsService,
    private readonly starter: CameraStarter,
    private readonly recordings: RecordingStarter,
    private readonly locations: LocationsService,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /** Creates a connection of either type. */
  async create(sessionId: string, body: CreateConnectionBody): Promise<ConnectionView> {
    return body.type === 'IPCAM' ? this.#createCamera(sessionId, body) : this.connections.create(sessionId, body)
  }

  /** Clients and backends learn of the camera once a media node has read it. */
  async #createCamera(sessionId: string, body: CreateConnectionBody): Promise<ConnectionView> {
    this.broadcast.requireBus()
    const created = await this.#newCamera(sessionId, body)
    const { id, serverData, record, camera } = created
    const session = await this.cameras.insert(created, this.masterId)
    const connection = { ...session, connectionId: id, sessionId, serverData, record, camera }
    const started = await this.#start(connection)
    const { activeAt, state } = await this.#activate(connection, started)
    const members = { role: null, clientData: '', serverData, ...cameraMembers(state) }
    const params = { connectionId: id, createdAt: activeAt, ...members }
    this.broadcast.notify(session.roomId, { method: 'connectionCreated', params })
    await this.#publish(connection, started)
    if (session.recordingMode === 'ALWAYS') void this.recordings.startAutomatically(sessionId)
    const view = await this.connections.get(sessionId, id)
    this.#notifyChange(session.roomId, view, state)
    return view
  }

  async #newCamera(sessionId: string, body: CreateConnectionBody): Promise<NewCamera> {
    const { rtspUri = '', adaptativeBitrate, onlyPlayWithSubscribers, networkCache } = body
    const { host, publicUri } = cameraAddress(rtspUri)
    const ip = host === null ? null : await addressOf(host)
    const id = newConnectionId()
    const options = { adaptativeBitrate, onlyPlayWithSubscribers, networkCache }
    const camera: Camera = { rtspUri, publicUri, ...options, streamId: newStreamId('IPC', id), tracks: null }
    return {
      ...{ id, sessionId, camera, ip },
      createdAt: this.clock.now(),
      serverData: body.data,
      record: isRecorded(this.config, body.record),
      location: this.locations.of(ip ?? ''),
    }
  }

  async #start(connection: CameraConnection): Promise<StartedCamera> {
    try {
      return await this.starter.start(connection)
    } catch (error) {
      await this.#discard(connection.connectionId)
      throw startFault(connection, error)
    }
  }

  /** Another master may announce a state before this one announces the connection: clients ignore it then. */
  #notifyChange(
    roomId: string,
    { id, cameraStatus, cameraError }: ConnectionView,
    announced: CameraState | null,
  ): void {
    if (!cameraStatus || (cameraStatus === announced?.status && cameraError === announced.error)) return
    const params = { connectionId: id, status: cameraStatus, error: cameraError }
    this.broadcast.notify(roomId, { method: 'cameraStatusChanged', params })
  }

  async #activate(connection: CameraConnection, { place, tracks }: StartedCamera): Promise<ActivatedCamera> {
    const { sessionId, connectionId } = connection
    try {
      const activated = await this.cameras.activate(sessionId, connectionId, tracks)
      if (activated) return activated
      throw noSuchSession(sessionId)
    } catch (error) {
      await this.#discard(connectionId)
      await this.starter.stop(place, connection)
      throw error
    }
  }

  /** The camera is a participant: when its stream cannot be published now, it is restarted. */
  async #publish(connection: CameraConnection, started: StartedCamera): Promise<void> {
    const { connectionId } = connection
    try {
      await this.starter.publish(connection, started)
      await this.cameras.release(connectionId, { hasFailed: false })
    } catch (error) {
      this.#logger.warn({ err: error, connectionId }, 'publishing the stream of a camera failed, will retry')
      await this.starter.stop(started.place, connection)
      await this.cameras.release(connectionId, { hasFailed: true }).catch(() => undefined)
    }
  }

  /** The row is deleted after its deadline when this fails. */
  async #discard(connectionId: string): Promise<void> {
    await this.cameras.discard(connectionId).catch((error: unknown) => {
      this.#logger.warn({ err: error, connectionId }, 'deleting a camera that was not started failed')
    })
  }
}

/** The error of the request: without the secrets of the camera, and with the name of the field. */
function startFault({ sessionId, camera }: CameraConnection, error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error
  if (error.code === 'NOT_FOUND' && error.subject === 'session') return noSuchSession(sessionId)
  const message = withoutSecretsOf(camera.rtspUri, error.message)
  if (error.code === 'INVALID') {
    return new ServiceError('INVALID', message.startsWith('rtspUri:') ? message : `rtspUri: ${message}`)
  }
  if (error.code === 'CONFLICT' || error.code === 'NOT_FOUND') return new ServiceError('UNAVAILABLE', message)
  return new ServiceError(error.code, message)
}
