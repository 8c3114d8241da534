import { ServiceError } from '@session-service/contract'
import { inChildSpan, markHandled } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import { routerCodecs, type RoomCodecs } from './codecs.js'
import { RouterPipe } from './router-pipe.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { RouterShare } from './router-share.js'

/** A router of a room on one worker, and the peers on it. */
export class RoomRouter {
  readonly #shares = new Set<RouterShare>()
  readonly #pipes = new Map<RoomRouter, Promise<RouterPipe>>()
  readonly #opened: Promise<void>
  #router: types.Router | undefined
  #pipedTracks = 0
  #closed = false

  constructor(
    readonly worker: PoolWorker,
    codecs: RoomCodecs,
  ) {
    // Counted before the router exists, so that rooms opened at the same time spread over the workers.
    worker.rooms++
    this.#opened = this.#open(codecs)
    markHandled(this.#opened)
  }

  /** Rejects when the router could not be created, or was closed before. */
  get opened(): Promise<void> {
    return this.#opened
  }

  /** Whether the worker holds a router of the room. */
  get isOpen(): boolean {
    return this.#router !== undefined
  }

  get router(): types.Router {
    if (this.#router) return this.#router
    throw new ServiceError('UNAVAILABLE', 'a router of the room is closed')
  }

  get isEmpty(): boolean {
    return this.#shares.size === 0
  }

  /** Tracks that it forwards, and those that it will forward to new peers, given the number of tracks in the room. */
  load(tracksOfRoom: number): number {
    let load = this.#pipedTracks
    for (const share of this.#shares) load += share.load(tracksOfRoom)
    return load
  }

  allocateShare(expected: number): RouterShare {
    const share = new RouterShare(this, expected)
    this.#shares.add(share)
    return share
  }

  releaseShare(share: RouterShare): void {
    this.#shares.delete(share)
  }

  /** A track that is piped to another router costs the worker as much as one that is sent to a subscriber. */
  pipedTracksChanged(by: number): void {
    this.#pipedTracks += by
    this.worker.consumers += by
  }

  /** One pipe carries all tracks between two routers in both directions, until one of them closes. */
  pipeTo(other: RoomRouter): Promise<RouterPipe> {
    const present = this.#pipes.get(other)
    if (present) return present
    const pipe = RouterPipe.open(this.router, other.router)
    this.#pipes.set(other, pipe)
    other.#pipes.set(this, pipe)
    pipe.catch(() => this.#forgetPipe(other))
    return pipe
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.worker.rooms--
    for (const [other, pipe] of this.#pipes) {
      this.#forgetPipe(other)
      pipe.then(
        (open) => open.close(),
        () => undefined,
      )
    }
    this.#router?.close()
    this.#router = undefined
  }

  #forgetPipe(other: RoomRouter): void {
    this.#pipes.delete(other)
    other.#pipes.delete(this)
  }

  async #open(codecs: RoomCodecs): Promise<void> {
    try {
      const mediaCodecs = routerCodecs(codecs)
      const router = await inChildSpan('worker createRouter', {}, () =>
        this.worker.worker.createRouter({ mediaCodecs }),
      )
      if (this.#closed) router.close()
      else this.#router = router
    } catch (error) {
      this.close()
      throw error
    }
  }
}
