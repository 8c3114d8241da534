import { ServiceError } from '@session-service/contract'
import type { types } from 'mediasoup'
import type { Branch } from '../routers/room-router.js'
import { mediaError } from '../workers/media-errors.js'
import { Pipe } from '../routers/piped-track.js'

/** A track on a branch where it is not published. */
interface Copy {
  /** Subscriptions that use it or wait for it. */
  users: number
  opened: Promise<void>
  pipe?: Pipe
}

export type Release = () => void

/** A published track: its producer, and its copies on those other branches where somebody receives it. */
export class Source {
  readonly #copies = new Map<Branch, Copy>()
  #closed = false
  #paused: boolean

  constructor(
    readonly producer: types.Producer,
    private readonly branch: Branch,
  ) {
    this.#paused = producer.paused
  }

  get paused(): boolean {
    return this.#paused
  }

  /** Where it is published. */
  get router(): types.Router {
    return this.branch.router
  }

  get kind(): types.MediaKind {
    return this.producer.kind
  }

  /** Sees to it that the track can be consumed on a branch, until the result is called. */
  async provide(branch: Branch): Promise<Release> {
    if (branch === this.branch) return () => undefined
    const copy = this.#copies.get(branch) ?? this.#copyTo(branch)
    copy.users++
    const release = once(() => this.#release(branch, copy))
    try {
      await copy.opened
      return release
    } catch (error) {
      release()
      throw mediaError(`the ${this.kind} track does not reach this part of the room`, error, 'UNAVAILABLE')
    }
  }

  /** Copies are resumed first, lest the key frame that follows find one closed. */
  async setPaused(paused: boolean): Promise<void> {
    this.#paused = paused
    const copies = [...this.#copies.values()].map(({ pipe }) => pipe?.setPaused(paused))
    if (paused) await Promise.all([this.producer.pause(), ...copies])
    else await Promise.all(copies).then(() => this.producer.resume())
  }

  close(): void {
    this.#closed = true
    for (const { pipe } of this.#copies.values()) pipe?.close()
    this.#copies.clear()
    // Last: the worker closes what receives a closed producer itself, and wonders when it is told to.
    this.producer.close()
  }

  #copyTo(branch: Branch): Copy {
    const copy: Copy = { users: 0, opened: Promise.resolve() }
    copy.opened = this.#open(copy, branch)
    this.#copies.set(branch, copy)
    return copy
  }

  async #open(copy: Copy, branch: Branch): Promise<void> {
    const pipe = await Pipe.open(this.producer, this.branch, branch)
    if (this.#closed) {
      pipe.close()
      throw new ServiceError('NOT_FOUND', 'the track has ended', { subject: 'stream' })
    }
    copy.pipe = pipe
    // Muted or unmuted meanwhile.
    if (pipe.paused !== this.#paused) await pipe.setPaused(this.#paused)
  }

  /** Only those release a copy for whom it was opened or failed, so it never ends while it is being made. */
  #release(branch: Branch, copy: Copy): void {
    if (--copy.users > 0) return
    if (this.#copies.get(branch) === copy) this.#copies.delete(branch)
    copy.pipe?.close()
  }
}

function once(act: () => void): Release {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}
