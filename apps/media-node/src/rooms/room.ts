import {
  ServiceError,
  type ForcedVideoCodec,
  type HeldRoom,
  type RoomEvent,
  type RtpCapabilities,
  type Units,
} from '@session-service/contract'
import { Branch } from '../routers/room-router.js'
import { chooseBranch } from '../routers/choose-router.js'
import type { MediaCounts } from './counts.js'
import { mediaError } from '../workers/media-errors.js'
import type { Peer } from './peer.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { expectedTracks, type Seat } from '../routers/router-slot.js'
import type { Stream } from './stream.js'

/** Somebody who wants to know what is published in a room, such as a recording. */
export interface RoomObserver {
  published(stream: Stream): void
  unpublished(stream: Stream): void
  /** Muted, unmuted, or another wish of its publisher on being recorded. */
  changed(stream: Stream): void
  /** The room is gone, and its streams with it. */
  closed(): void
}

/** Of each kind by itself: `Omit` of a union keeps only what all kinds have. */
type WithoutEpoch<E> = E extends RoomEvent ? Omit<E, 'epoch'> : never

export interface RoomContext {
  counts: MediaCounts
  report: (roomId: string, event: RoomEvent) => void
  /** Those alive. */
  workers: () => Iterable<PoolWorker>
  /** Tracks a branch is to forward at most. */
  consumersPerRouter: number
}

/**
 * A session's media on this node: the peers in it and the streams they publish. It begins on one worker and takes a
 * branch on another one when the peers become too many for it.
 */
export class Room {
  readonly peers = new Map<string, Peer>()
  readonly streams = new Map<string, Stream>()
  readonly #branches = new Set<Branch>()
  readonly #observers = new Set<RoomObserver>()
  readonly id: string
  readonly epoch: number
  /** By `performance.now()`. */
  readonly openedAt = performance.now()
  #tracks = 0
  #closed = false

  private constructor(
    held: HeldRoom,
    readonly videoCodec: ForcedVideoCodec,
    private readonly context: RoomContext,
  ) {
    this.id = held.roomId
    this.epoch = held.epoch
  }

  static async open(
    held: HeldRoom,
    videoCodec: ForcedVideoCodec,
    worker: PoolWorker,
    context: RoomContext,
  ): Promise<Room> {
    const room = new Room(held, videoCodec, context)
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

  /** What it is made of now, as costs are counted. */
  get units(): Units {
    let consumers = 0
    for (const { subscriptions } of this.peers.values())
      for (const subscription of subscriptions.values()) consumers += subscription.consumers.length
    return { rooms: 1, connections: this.peers.size, streams: this.streams.size, consumers }
  }

  get branches(): readonly Branch[] {
    return [...this.#branches]
  }

  get rtpCapabilities(): RtpCapabilities {
    const branch = this.branches.find(({ stands }) => stands)
    if (!branch) throw new ServiceError('UNAVAILABLE', `room ${this.id} is gone`)
    return branch.router.rtpCapabilities as RtpCapabilities
  }

  standsOn(worker: PoolWorker): boolean {
    return this.branches.some((branch) => branch.worker === worker && branch.stands)
  }

  /** A place for somebody who comes, to be vacated by whoever took it. */
  async admit(): Promise<Seat> {
    if (this.#closed) throw new ServiceError('NOT_FOUND', `room ${this.id} is closed`, { subject: 'connection' })
    const expected = expectedTracks(this.#tracks)
    const branch = this.#chooseBranch(expected)
    // Taken before anything is waited for, so that those who come at once see one another.
    const seat = branch.seat(expected)
    try {
      await branch.opened
      return seat
    } catch (error) {
      this.vacate(seat)
      throw mediaError(`room ${this.id} could not grow`, error, 'UNAVAILABLE')
    }
  }

  /** A branch that nobody needs is closed; the last one stays as long as the room. */
  vacate(seat: Seat): void {
    const { branch } = seat
    branch.vacate(seat)
    if (!branch.isEmpty || this.#branches.size === 1) return
    this.#branches.delete(branch)
    branch.close()
  }

  peer(connectionId: string): Peer {
    const peer = this.peers.get(connectionId)
    if (peer) return peer
    throw new ServiceError('NOT_FOUND', `connection ${connectionId} is not in room ${this.id}`, {
      subject: 'connection',
    })
  }

  enter(peer: Peer): void {
    this.peers.set(peer.connectionId, peer)
    this.context.counts.connections++
  }

  leave(connectionId: string): void {
    const peer = this.peers.get(connectionId)
    if (!peer) return
    this.peers.delete(connectionId)
    this.context.counts.connections--
    peer.close()
  }

  stream(streamId: string): Stream {
    const stream = this.streams.get(streamId)
    if (stream) return stream
    throw this.noStream(streamId)
  }

  noStream(streamId: string): ServiceError {
    return new ServiceError('NOT_FOUND', `there is no stream ${streamId} in room ${this.id}`, { subject: 'stream' })
  }

  /** The result ends it. */
  observe(observer: RoomObserver): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  published(stream: Stream): void {
    this.streams.set(stream.id, stream)
    this.#tracks += stream.sources.length
    this.context.counts.streams++
    for (const observer of this.#observers) observer.published(stream)
  }

  changed(stream: Stream): void {
    for (const observer of this.#observers) observer.changed(stream)
  }

  unpublished(stream: Stream): void {
    this.streams.delete(stream.id)
    this.#tracks -= stream.sources.length
    this.context.counts.streams--
    for (const observer of this.#observers) observer.unpublished(stream)
  }

  consumersChanged(seat: Seat, by: number): void {
    this.context.counts.consumers += by
    seat.consumersChanged(by)
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
    for (const connectionId of [...this.peers.keys()]) this.leave(connectionId)
    for (const branch of this.#branches) branch.close()
    this.#branches.clear()
  }

  #chooseBranch(expected: number): Branch {
    const branches = this.branches.map((branch) => ({ branch, load: branch.load(this.#tracks) }))
    const taken = new Set(this.branches.map(({ worker }) => worker))
    const choice = chooseBranch({
      branches,
      otherWorkers: [...this.context.workers()].filter((worker) => !taken.has(worker)),
      expected,
      budget: this.context.consumersPerRouter,
    })
    return 'join' in choice ? choice.join.branch : this.#open(choice.open)
  }

  #open(worker: PoolWorker): Branch {
    const branch = new Branch(worker, this.videoCodec)
    this.#branches.add(branch)
    branch.opened.catch(() => this.#branches.delete(branch))
    return branch
  }
}
