import type { CameraStatus, ConnectionInfo, Role } from '@session-service/contract'
import type { Stream } from './stream.js'

/** A participant of the session. The session updates it; applications only read it. */
export class Connection {
  readonly connectionId: string
  /** UTC ms. */
  readonly createdAt: number
  /** The data that this participant passed to `connect`. */
  readonly clientData: string
  /** The data that the application's server set when it created the connection. */
  readonly serverData: string
  /** Whether this is the own connection of the `Session` object. */
  readonly local: boolean
  readonly #streams = new Map<string, Stream>()
  #role: Role | null
  #cameraStatus: CameraStatus | null
  #cameraError: string | null
  #networkQuality: number | null

  /** @internal */
  constructor(info: ConnectionInfo, local: boolean) {
    this.connectionId = info.connectionId
    this.createdAt = info.createdAt
    this.clientData = info.clientData
    this.serverData = info.serverData
    this.local = local
    this.#role = info.role
    this.#cameraStatus = info.cameraStatus ?? null
    this.#cameraError = info.cameraError ?? null
    this.#networkQuality = info.networkQuality ?? null
  }

  /** The streams that it publishes, by stream id. */
  get streams(): ReadonlyMap<string, Stream> {
    return this.#streams
  }

  /** Null for an IP camera. */
  get role(): Role | null {
    return this.#role
  }

  /** The state of an IP camera, as in `cameraStatusChanged`; null for other participants. */
  get cameraStatus(): CameraStatus | null {
    return this.#cameraStatus
  }

  /** The cause of the last failure of an IP camera; null while it works, and for other participants. */
  get cameraError(): string | null {
    return this.#cameraError
  }

  /**
   * How well its published media arrives at the server: 5 excellent, 4 good, 3 occasional bursts of loss, 2 poor, 1 bad,
   * 0 nothing arrives; null before the first measurement.
   */
  get networkQuality(): number | null {
    return this.#networkQuality
  }

  /** Both data joined as `clientData%/%serverData`; only one of them when the other is empty. */
  get data(): string {
    return [this.clientData, this.serverData].filter((part) => part !== '').join('%/%')
  }

  /** @internal */
  addStream(stream: Stream): void {
    this.#streams.set(stream.streamId, stream)
  }

  /** @internal */
  removeStream(streamId: string): void {
    this.#streams.delete(streamId)
  }

  /** @internal */
  setRole(role: Role | null): void {
    this.#role = role
  }

  /** @internal */
  setCamera(status: CameraStatus, error: string | null): void {
    this.#cameraStatus = status
    this.#cameraError = error
  }

  /** @internal */
  setNetworkQuality(level: number): void {
    this.#networkQuality = level
  }

  /** @internal */
  info(): ConnectionInfo {
    const { connectionId, createdAt, clientData, serverData, role, cameraStatus, cameraError } = this
    const camera = cameraStatus && { cameraStatus, cameraError }
    const quality = this.#networkQuality !== null && { networkQuality: this.#networkQuality }
    return { connectionId, createdAt, clientData, serverData, role, ...camera, ...quality }
  }
}
