import {
  ServiceError,
  type CameraChange,
  type CameraStatus,
  type CameraTracks,
  type MediaKind,
  type NodeCommandCall,
} from '@session-service/contract'
import type { types } from 'mediasoup'
import type { ParticipantMetadata, Publisher } from '../rooms/publisher.js'
import type { Room } from '../rooms/room.js'
import { Stream } from '../rooms/stream.js'
import type { RoomRouter } from '../routers/room-router.js'
import type { RouterShare } from '../routers/router-share.js'
import type { CameraFailure } from './camera-failure.js'
import { CameraReader } from './camera-reader.js'
import { CameraLanes } from './camera-lanes.js'
import type { CameraAddress } from './camera-program.js'
import { CameraTrack } from './camera-tracks.js'

/** How long a new camera may take until its tracks are known, ms. */
const PROBE_MS = 10_000

export interface CameraEnvironment {
  /** The path of the native program. */
  program: string
  /** How long a camera is read without a receiver, ms. */
  idleMs: number
  /** Checks the address. @throws ServiceError INVALID or CAMERA_FAILED */
  address: () => Promise<CameraAddress>
  /** The state has changed. */
  onChange: (change: Omit<CameraChange, 'roomId' | 'epoch'>) => void
  /** An attempt to read the camera failed; `isNewReason`: for another reason than the one before. */
  onFailure: (failure: CameraFailure, isNewReason: boolean) => void
}

/** A camera on the network that publishes a stream in a room. */
export class Camera implements Publisher {
  readonly connectionId: string
  readonly metadata: ParticipantMetadata
  readonly maxSendKbps = 0
  readonly catchUp: CameraLanes
  readonly #reader: CameraReader
  readonly #tracks = new Map<MediaKind, CameraTrack>()
  #found: PromiseWithResolvers<CameraTracks> | undefined
  #stream: Stream | undefined
  #idle: NodeJS.Timeout | undefined
  #status: CameraStatus = 'connecting'
  #error: string | null = null
  #reportedError: string | null = null
  #revision = 0
  /** Whether the current attempt has found a picture. */
  #hasPicture = true
  #isClosed = false

  private constructor(
    readonly room: Room,
    private readonly call: NodeCommandCall<'startCamera'>,
    private readonly environment: CameraEnvironment,
    private readonly share: RouterShare,
  ) {
    this.connectionId = call.connectionId
    this.metadata = { record: call.record, clientData: '', serverData: call.serverData }
    this.#reader = new CameraReader({
      program: environment.program,
      address: environment.address,
      onTracks: (kinds) => this.#handleTracks(kinds),
      onMedia: (kind) => this.#handleMedia(kind),
      onSent: (kind, bytes) => kind === 'video' && this.catchUp.sent(bytes),
      onBurst: (burst) => this.catchUp.burstSent(burst),
      onFailure: (failure) => this.#handleFailure(failure),
    })
    this.catchUp = new CameraLanes(this.#reader)
  }

  /**
   * Publishes its stream. Without `tracks` in the call, it waits until the camera has sent its tracks.
   * @throws ServiceError CAMERA_FAILED with the cause
   */
  static async open(
    room: Room,
    call: NodeCommandCall<'startCamera'>,
    environment: CameraEnvironment,
  ): Promise<{ camera: Camera; tracks: CameraTracks }> {
    const share = await room.allocateShare(0)
    const camera = new Camera(room, call, environment, share)
    try {
      const tracks = call.tracks ?? (await camera.#probe())
      await camera.#publish(tracks)
      return { camera, tracks }
    } catch (error) {
      camera.close()
      throw error
    }
  }

  get roomRouter(): RoomRouter {
    return this.share.roomRouter
  }

  setRecord(record: boolean): void {
    if (this.metadata.record === record) return
    this.metadata.record = record
    if (this.#stream) this.room.changed(this.#stream)
  }

  get adaptativeBitrate(): boolean {
    return this.call.source.adaptativeBitrate
  }

  /** A camera takes no limit of its receivers. */
  sendLimitChanged(): void {}

  receiversChanged(): void {
    if (this.#isClosed || !this.#stream || !this.call.source.onlyPlayWithSubscribers) return
    clearTimeout(this.#idle)
    if (this.#stream.receivers === 0) this.#idle = setTimeout(() => this.#rest(), this.environment.idleMs)
    else if (!this.#reader.isOn) this.#play()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.catchUp.stopped()
    // The child ends with its input; nothing waits for it.
    void this.#reader.stop()
    if (this.#stream) {
      if (this.room.streams.get(this.#stream.id) === this.#stream) this.room.unpublished(this.#stream)
      this.#stream.close()
    }
    for (const track of this.#tracks.values()) track.close()
    this.room.releaseShare(this.share)
  }

  async #probe(): Promise<CameraTracks> {
    const found = Promise.withResolvers<CameraTracks>()
    this.#found = found
    const timer = setTimeout(() => found.reject(failed('the camera does not answer')), PROBE_MS)
    this.#reader.start()
    try {
      return await found.promise
    } catch (error) {
      await this.#reader.stop()
      throw error
    } finally {
      clearTimeout(timer)
      this.#found = undefined
    }
  }

  /** Its tracks are paused until it sends, so that a recording treats it as muted. */
  async #publish({ hasAudio, hasVideo }: CameraTracks): Promise<void> {
    const kinds = [hasAudio && 'audio', hasVideo && 'video'].filter((kind) => kind !== false) as MediaKind[]
    for (const kind of kinds) this.#tracks.set(kind, await CameraTrack.open(kind, this.roomRouter))
    const publication = {
      roomId: this.room.id,
      connectionId: this.connectionId,
      streamId: this.call.streamId,
      tracks: [...this.#tracks.values()].map((track) => track.published(this.connectionId)),
      audioActive: false,
      videoActive: false,
      typeOfVideo: 'IPCAM',
    } as const
    this.#stream = await Stream.publish(this, publication, { producing: (kind) => this.#transport(kind) })
  }

  #transport(kind: MediaKind): types.Transport {
    const track = this.#tracks.get(kind)
    if (track) return track.transport
    throw new ServiceError('INTERNAL', `the camera has no ${kind}`)
  }

  /** Called when the room holds it: its stream is visible from now on. */
  entered(): void {
    if (!this.#stream) return
    this.room.published(this.#stream)
    if (this.#reader.isOn) void this.#send()
    else if (this.call.source.onlyPlayWithSubscribers) this.#setStatus('idle')
    else this.#play()
    this.receiversChanged()
  }

  #play(): void {
    this.#setStatus('connecting')
    this.#reader.start()
  }

  /** Ends the reading of a camera without receivers. */
  #rest(): void {
    void this.#reader.stop()
    this.catchUp.stopped()
    this.#pause()
    this.#error = null
    this.#setStatus('idle')
  }

  /** The tracks are resumed first: a paused track loses the first key frame. */
  async #send(): Promise<void> {
    // Fails only when the stream is closed or its worker has died.
    await this.#stream?.change({ audio: true, video: true }).catch(() => undefined)
    if (this.#isClosed) return
    // The program sets up one kind after the other, and the codecs of sound take longer.
    const videoFirst = [...this.#tracks].toReversed()
    this.#reader.send(new Map(videoFirst.map(([kind, { output }]) => [kind, output])))
  }

  #handleTracks(kinds: readonly MediaKind[]): void {
    this.#hasPicture = kinds.includes('video')
    if (this.#found && kinds.length > 0) {
      this.#found.resolve({ hasAudio: kinds.includes('audio'), hasVideo: kinds.includes('video') })
    } else if (this.#stream) void this.#send()
  }

  /** The sound alone does not show that a camera works, unless it has no picture. */
  #handleMedia(kind: MediaKind): void {
    if (kind === 'video') this.catchUp.started()
    else if (this.#tracks.has('video')) return this.#reportNoPicture()
    this.#error = null
    if (this.#reader.isOn) this.#setStatus('playing')
  }

  /** A camera that is back without its picture: the reason of its loss no longer holds. */
  #reportNoPicture(): void {
    if (this.#hasPicture || this.#status !== 'reconnecting') return
    this.#error = 'the camera sends no picture'
    this.#setStatus('reconnecting')
  }

  #handleFailure(failure: CameraFailure): void {
    const isNewReason = failure.text !== this.#error
    this.catchUp.stopped()
    this.environment.onFailure(failure, isNewReason)
    if (this.#found) return this.#found.reject(failed(failure.text))
    this.#pause()
    this.#error = failure.text
    this.#setStatus('reconnecting')
  }

  /** The receivers start again with the next key frame, and their sequence numbers have no gap. */
  #pause(): void {
    void this.#stream?.change({ audio: false, video: false }).catch(() => undefined)
  }

  #setStatus(status: CameraStatus): void {
    const isKnown = status === this.#status && this.#revision > 0 && this.#error === this.#reportedError
    if (this.#isClosed || isKnown) return
    this.#reportedError = this.#error
    this.#status = status
    this.#revision++
    const { connectionId } = this
    this.environment.onChange({ connectionId, revision: this.#revision, status, error: this.#error })
  }
}

const failed = (text: string): ServiceError => new ServiceError('CAMERA_FAILED', text)
