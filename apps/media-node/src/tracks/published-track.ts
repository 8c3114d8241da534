import { ServiceError } from '@session-service/contract'
import type { types } from 'mediasoup'
import type { RoomRouter } from '../routers/room-router.js'
import { mediaError } from '../workers/media-errors.js'
import type { CatchUp } from './catch-up.js'
import { once, type Release } from './release.js'
import { PipedTrack } from '../routers/piped-track.js'

/** The track on a router where it is not published. */
interface PipedEntry {
  /** Subscriptions that use it or wait for it. */
  users: number
  opened: Promise<void>
  track?: PipedTrack
}

/** A published track: its producer, and its piped tracks on the other routers with subscribers. */
export class PublishedTrack {
  readonly #piped = new Map<RoomRouter, PipedEntry>()
  #closed = false
  #paused: boolean

  constructor(
    readonly producer: types.Producer,
    private readonly roomRouter: RoomRouter,
    readonly catchUp?: CatchUp,
  ) {
    this.#paused = producer.paused
  }

  get paused(): boolean {
    return this.#paused
  }

  /** The router where it is published. */
  get router(): types.Router {
    return this.roomRouter.router
  }

  get kind(): types.MediaKind {
    return this.producer.kind
  }

  /** Makes the track consumable on a router until the returned function is called. */
  async acquire(roomRouter: RoomRouter): Promise<Release> {
    if (roomRouter === this.roomRouter) return () => undefined
    const entry = this.#piped.get(roomRouter) ?? this.#pipeTo(roomRouter)
    entry.users++
    const release = once(() => this.#release(roomRouter, entry))
    try {
      await entry.opened
      return release
    } catch (error) {
      release()
      throw mediaError(`the ${this.kind} track cannot be piped to another router of the room`, error, 'UNAVAILABLE')
    }
  }

  /** Piped tracks are resumed first, so that the key frame that follows finds all of them open. */
  async setPaused(paused: boolean): Promise<void> {
    this.#paused = paused
    const piped = [...this.#piped.values()].map(({ track }) => track?.setPaused(paused))
    if (paused) await Promise.all([this.producer.pause(), ...piped])
    else await Promise.all(piped).then(() => this.producer.resume())
  }

  close(): void {
    this.#closed = true
    for (const { track } of this.#piped.values()) track?.close()
    this.#piped.clear()
    // Last: the worker closes the consumers of a closed producer itself, and then rejects a request to close them.
    this.producer.close()
  }

  #pipeTo(roomRouter: RoomRouter): PipedEntry {
    const entry: PipedEntry = { users: 0, opened: Promise.resolve() }
    entry.opened = this.#open(entry, roomRouter)
    this.#piped.set(roomRouter, entry)
    return entry
  }

  async #open(entry: PipedEntry, roomRouter: RoomRouter): Promise<void> {
    const track = await PipedTrack.open(this.producer, this.roomRouter, roomRouter)
    if (this.#closed) {
      track.close()
      throw new ServiceError('NOT_FOUND', 'the track has ended', { subject: 'stream' })
    }
    entry.track = track
    // The publisher may have muted or unmuted meanwhile.
    if (track.paused !== this.#paused) await track.setPaused(this.#paused)
  }

  /** A user releases only after the piped track has opened or failed, so it never closes while it is being opened. */
  #release(roomRouter: RoomRouter, entry: PipedEntry): void {
    if (--entry.users > 0) return
    if (this.#piped.get(roomRouter) === entry) this.#piped.delete(roomRouter)
    entry.track?.close()
  }
}
