import { ServiceError, type ForcedVideoCodec } from '@session-service/contract'
import type { types } from 'mediasoup'
import { ROUTER_CODECS } from './codecs.js'
import { Link } from './router-pipe.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { Seat } from './router-slot.js'

/** The part of a room that one worker carries: a router and the peers who sit at it. */
export class Branch {
  readonly #seats = new Set<Seat>()
  readonly #links = new Map<Branch, Promise<Link>>()
  readonly #opened: Promise<void>
  #router: types.Router | undefined
  #copies = 0
  #closed = false

  constructor(
    readonly worker: PoolWorker,
    videoCodec: ForcedVideoCodec,
  ) {
    // Counted before it is there, so that rooms opened at the same time spread over the workers.
    worker.rooms++
    this.#opened = this.#open(videoCodec)
    this.#opened.catch(() => undefined)
  }

  /** Rejects when there is no router to be had, or not any more. */
  get opened(): Promise<void> {
    return this.#opened
  }

  /** Whether something of the room rests on the worker. */
  get stands(): boolean {
    return this.#router !== undefined
  }

  get router(): types.Router {
    if (this.#router) return this.#router
    throw new ServiceError('UNAVAILABLE', 'a part of the room is gone')
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0
  }

  /** Tracks it forwards, or will for those who just came, of the so many that the room has. */
  load(tracksOfRoom: number): number {
    let load = this.#copies
    for (const seat of this.#seats) load += seat.load(tracksOfRoom)
    return load
  }

  seat(expected: number): Seat {
    const seat = new Seat(this, expected)
    this.#seats.add(seat)
    return seat
  }

  vacate(seat: Seat): void {
    this.#seats.delete(seat)
  }

  /** Tracks forwarded to other branches cost the worker as much as those to subscribers. */
  copiesChanged(by: number): void {
    this.#copies += by
    this.worker.consumers += by
  }

  /** One link serves all tracks between two branches, both ways, until one of them closes. */
  linkTo(other: Branch): Promise<Link> {
    const present = this.#links.get(other)
    if (present) return present
    const link = Link.open(this.router, other.router)
    this.#links.set(other, link)
    other.#links.set(this, link)
    link.catch(() => this.#unlink(other))
    return link
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.worker.rooms--
    for (const [other, link] of this.#links) {
      this.#unlink(other)
      link.then(
        (open) => open.close(),
        () => undefined,
      )
    }
    this.#router?.close()
    this.#router = undefined
  }

  #unlink(other: Branch): void {
    this.#links.delete(other)
    other.#links.delete(this)
  }

  async #open(videoCodec: ForcedVideoCodec): Promise<void> {
    try {
      const router = await this.worker.worker.createRouter({ mediaCodecs: [...ROUTER_CODECS[videoCodec]] })
      if (this.#closed) router.close()
      else this.#router = router
    } catch (error) {
      this.close()
      throw error
    }
  }
}
