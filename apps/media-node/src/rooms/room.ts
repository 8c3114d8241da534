import {
  ServiceError,
  type HeldRoom,
  type MediaKind,
  type RoomEvent,
  type RtpCapabilities,
  type Units,
} from '@session-service/contract'
import { RoomRouter } from '../routers/room-router.js'
import { chooseRouter } from '../routers/choose-router.js'
import { mayTranscode, type RoomCodecs } from '../routers/codecs.js'
import { mediaError } from '../workers/media-errors.js'
import { type MediaCounts, NO_MEDIA } from './media-counts.js'
import type { Peer } from './peer.js'
import type { Publisher } from './publisher.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { expectedTracks, type RouterShare } from '../routers/router-share.js'
import { offered } from '../tracks/rtp.js'
import type { Stream } from './stream.js'
import type { Quality, QualityControl, Transcoder } from './transcoder.js'

/** Follows what is published in a room: a recording, for example. */
export interface RoomObserver {
  published(stream: Stream): void
  unpublished(stream: Stream): void
  /** The publisher muted, unmuted, or changed whether it is recorded. */
  changed(stream: Stream): void
  /** The forwarded tracks of these kinds were replaced; the former ones end soon. */
  mediaReplaced?(stream: Stream, kinds: readonly MediaKind[]): void
  /** A participant has left; its streams were unpublished before. `isReplaced`: it is about to enter again. */
  left?(connectionId: string, isReplaced: boolean): void
  /** The room and all its streams are closed. */
  closed(): void
}

/** Distributes over the kinds: `Omit` of a union keeps only the members that all kinds have. */
type WithoutEpoch<E> = E extends RoomEvent ? Omit<E, 'epoch'> : never

export interface RoomContext {
  /** The size of all rooms of the node. */
  counts: MediaCounts
  report: (roomId: string, event: RoomEvent) => void
  /** The living workers. */
  workers: () => Iterable<PoolWorker>
  /** The most tracks that a router forwards before the room opens another one. */
  consumersPerRouter: number
  /** Absent while the node cannot transcode. */
  transcoder?: Transcoder | undefined
  /** Absent while the node cannot transcode. */
  qualityControl?: QualityControl | undefined
}

/**
 * A session's media on this node: its peers and their streams. It starts with one router and opens another one on
 * another worker when the peers exceed the budget of the first.
 */
export class Room {
  readonly peers = new Map<string, Peer>()
  /** Cameras on the network, which publish and never subscribe. */
  readonly cameras = new Map<string, Publisher>()
  readonly streams = new Map<string, Stream>()
  readonly #routers = new Set<RoomRouter>()
  readonly #observers = new Set<RoomObserver>()
  readonly id: string
  readonly epoch: number
  /** By `performance.now()`. */
  readonly openedAt = performance.now()
  /** The interval between measurements of the publishers' networks, ms; 0: they are not measured. */
  networkQualityMs = 0
  #tracks = 0
  readonly #counts: MediaCounts = { ...NO_MEDIA }
  #closed = false

  private constructor(
    held: HeldRoom,
    readonly codecs: RoomCodecs,
    private readonly context: RoomContext,
  ) {
    this.id = held.roomId
    this.epoch = held.epoch
  }

  static async open(held: HeldRoom, codecs: RoomCodecs, worker: PoolWorker, context: RoomContext): Promise<Room> {
    const room = new Room(held, codecs, context)
    try {
      await room.#open(worker).opened
      return room
    } catch (error) {
      throw mediaError(`room ${held.roomId} was not opened`, error)
    }
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Its current size in the units of the cost model. */
  get units(): Units {
    return { rooms: 1, ...this.#counts }
  }

  get routers(): readonly RoomRouter[] {
    return [...this.#routers]
  }

  /** The codecs that it offers to publishers and subscribers. */
  get rtpCapabilities(): RtpCapabilities {
    const roomRouter = this.routers.find(({ isOpen }) => isOpen)
    if (!roomRouter) throw new ServiceError('UNAVAILABLE', `room ${this.id} is closed`)
    return offered(roomRouter.router.rtpCapabilities)
  }

  get mayTranscode(): boolean {
    return mayTranscode(this.codecs)
  }

  /** Undefined when the session does not allow it, or the node cannot. */
  get transcoder(): Transcoder | undefined {
    return this.mayTranscode ? this.context.transcoder : undefined
  }

  /** For smaller videos of cameras, which no session forbids. Undefined when the node cannot encode. */
  get encoder(): Transcoder | undefined {
    return this.context.transcoder
  }

  /** The quality of the stream's video that is due for a subscriber. */
  qualityOf(stream: Stream, peer: Peer): Quality {
    if (!stream.publisher.adaptativeBitrate) return 'full'
    return this.context.qualityControl?.qualityOf(stream, peer) ?? 'full'
  }

  /** The node had no capacity for the small video of the stream. */
  smallRefused(stream: Stream, peer: Peer): void {
    this.context.qualityControl?.refused(stream, peer)
  }

  /** The small video of the stream fails again and again. */
  smallFailed(stream: Stream): void {
    this.context.qualityControl?.failed(stream)
  }

  usesWorker(worker: PoolWorker): boolean {
    return this.routers.some((roomRouter) => roomRouter.worker === worker && roomRouter.isOpen)
  }

  /** A share for a participant that will receive `expected` tracks; the caller releases it. */
  async allocateShare(expected = expectedTracks(this.#tracks)): Promise<RouterShare> {
    if (this.#closed) throw new ServiceError('NOT_FOUND', `room ${this.id} is closed`, { subject: 'connection' })
    const roomRouter = this.#chooseRouter(expected)
    // Allocated before the first await, so that concurrent joins see one another.
    const share = roomRouter.allocateShare(expected)
    try {
      await roomRouter.opened
      return share
    } catch (error) {
      this.releaseShare(share)
      throw mediaError(`room ${this.id} could not open another router`, error, 'UNAVAILABLE')
    }
  }

  /** Closes the router when it is empty; the last router stays open as long as the room. */
  releaseShare(share: RouterShare): void {
    const { roomRouter } = share
    roomRouter.releaseShare(share)
    if (!roomRouter.isEmpty || this.#routers.size === 1) return
    this.#routers.delete(roomRouter)
    roomRouter.close()
  }

  peer(connectionId: string): Peer {
    const peer = this.peers.get(connectionId)
    if (peer) return peer
    throw new ServiceError('NOT_FOUND', `connection ${connectionId} is not in room ${this.id}`, {
      subject: 'connection',
    })
  }

  /** A client or a camera. */
  participant(connectionId: string): Publisher {
    return this.cameras.get(connectionId) ?? this.peer(connectionId)
  }

  get connectionIds(): string[] {
    return [...this.peers.keys(), ...this.cameras.keys()]
  }

  enter(peer: Peer): void {
    this.peers.set(peer.connectionId, peer)
    this.count('connections', 1)
  }

  enterCamera(camera: Publisher): void {
    this.cameras.set(camera.connectionId, camera)
    this.count('connections', 1)
    this.count('cameras', 1)
  }

  /** `isReplaced`: the participant is about to enter again. */
  leave(connectionId: string, { isReplaced = false } = {}): void {
    const participant = this.cameras.get(connectionId) ?? this.peers.get(connectionId)
    if (participant) this.#remove(participant)
    // Also after a replacement that has failed, for which the observers have kept something.
    for (const observer of this.#observers) observer.left?.(connectionId, isReplaced)
  }

  stream(streamId: string): Stream {
    const stream = this.streams.get(streamId)
    if (stream) return stream
    throw this.noStream(streamId)
  }

  noStream(streamId: string): ServiceError {
    return new ServiceError('NOT_FOUND', `there is no stream ${streamId} in room ${this.id}`, { subject: 'stream' })
  }

  /** Returns a function that removes the observer. */
  observe(observer: RoomObserver): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  published(stream: Stream): void {
    this.streams.set(stream.id, stream)
    this.#tracks += stream.tracks.length
    this.count('streams', 1)
    for (const observer of this.#observers) observer.published(stream)
  }

  changed(stream: Stream): void {
    for (const observer of this.#observers) observer.changed(stream)
  }

  mediaReplaced(stream: Stream, kinds: readonly MediaKind[]): void {
    for (const observer of this.#observers) observer.mediaReplaced?.(stream, kinds)
  }

  unpublished(stream: Stream): void {
    this.streams.delete(stream.id)
    this.#tracks -= stream.tracks.length
    this.count('streams', -1)
    for (const observer of this.#observers) observer.unpublished(stream)
  }

  /** Changes the size of the room, and of the node. */
  count(unit: keyof MediaCounts, by: number): void {
    this.#counts[unit] += by
    this.context.counts[unit] += by
  }

  consumersChanged(share: RouterShare, by: number): void {
    this.count('consumers', by)
    share.consumersChanged(by)
  }

  report(event: WithoutEpoch<RoomEvent>): void {
    this.context.report(this.id, { ...event, epoch: this.epoch })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    const observers = [...this.#observers]
    this.#observers.clear()
    for (const observer of observers) observer.closed()
    for (const connectionId of this.connectionIds) this.leave(connectionId)
    for (const roomRouter of this.#routers) roomRouter.close()
    this.#routers.clear()
  }

  #remove(participant: Publisher): void {
    const { connectionId } = participant
    this.peers.delete(connectionId)
    if (this.cameras.delete(connectionId)) this.count('cameras', -1)
    this.count('connections', -1)
    participant.close()
  }

  #chooseRouter(expected: number): RoomRouter {
    const routers = this.routers.map((roomRouter) => ({ roomRouter, load: roomRouter.load(this.#tracks) }))
    const taken = new Set(this.routers.map(({ worker }) => worker))
    const choice = chooseRouter({
      routers,
      otherWorkers: [...this.context.workers()].filter((worker) => !taken.has(worker)),
      expected,
      budget: this.context.consumersPerRouter,
    })
    return 'join' in choice ? choice.join.roomRouter : this.#open(choice.open)
  }

  #open(worker: PoolWorker): RoomRouter {
    const roomRouter = new RoomRouter(worker, this.codecs)
    this.#routers.add(roomRouter)
    roomRouter.opened.catch(() => this.#routers.delete(roomRouter))
    return roomRouter
  }
}
