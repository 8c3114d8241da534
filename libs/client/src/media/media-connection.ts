import { ServiceError } from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { type Deferred, deferred } from '../platform/deferred.js'
import type { Engine, MediaLocation } from './engine.js'
import type { RejoinResult } from '../signalling/signalling.js'
import { isPermanent, retryDelay } from '../signalling/retry.js'
import { SocketLost } from '../signalling/rpc-socket.js'

export interface MediaConnectionOptions {
  readonly clock: Clock
  open(place: MediaLocation): Promise<Engine>
  rejoin(): Promise<RejoinResult>
  /** Once a loss, also when more is lost before the media is back. */
  onLost(): void
  /** Who is there, as the answer to `rejoin` says: before anything that was told after it. */
  onRejoined(snapshot: RejoinResult['snapshot']): void
  /** There are transports again. */
  onRestored(engine: Engine): void
  /** The server will not have it back. */
  onRefused(): void
}

/** ms. */
export const MEDIA_TIMEOUTS = {
  /** A call that the media node did not answer waits this long for the news that the node is lost. */
  lossReport: 6_000,
  /** Streams that are not back this long after the own media is will not come back. */
  restoreStreams: 15_000,
  /** Clients that find out for themselves come back spread over this. */
  rejoinSpread: 500,
} as const

/** What a server says that did not reach the media node. An answer lost with its socket is another matter. */
const isNodeUnreachable = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.code === 'UNAVAILABLE' || error.code === 'TIMEOUT') &&
  !(error.cause instanceof SocketLost)

const isTransient = (error: unknown): boolean => error instanceof ServiceError && !isPermanent(error.code)

/** The participant's media: on one node at a time, and on the next one when that is lost, for as long as the session. */
export class MediaConnection {
  #engine: Engine
  /** Of lost nodes: their last pictures are shown until there are others. */
  readonly #retired: Engine[] = []
  /** The newest epoch heard of: that of the engine, or a later one when its media is lost. */
  #newest: number
  #notBefore = 0
  #state: 'up' | 'lost' | 'closed' = 'up'
  #ready: Deferred<Engine> = deferred()
  #upSince: number
  /** Ends pauses early: at a loss and at the end. */
  readonly #pauses = new Set<() => void>()
  readonly #options: MediaConnectionOptions

  constructor(engine: Engine, epoch: number, options: MediaConnectionOptions) {
    this.#options = options
    this.#engine = engine
    this.#newest = epoch
    this.#upSince = options.clock.now()
    this.#ready.resolve(engine)
  }

  /** The engine there is, or else was. */
  get engine(): Engine {
    return this.#engine
  }

  isCurrent(engine: Engine | undefined): boolean {
    return this.#state === 'up' && engine === this.#engine
  }

  /**
   * The session has media of `epoch`, or gets it next: all before it is gone, and after `afterMs` it may be asked for.
   * What is known already changes nothing.
   */
  epochSeen(epoch: number, afterMs = this.#options.clock.random() * MEDIA_TIMEOUTS.rejoinSpread): void {
    if (this.#state === 'closed' || epoch <= this.#newest) return
    this.#newest = epoch
    this.#notBefore = this.#options.clock.now() + afterMs
    if (this.#state === 'lost') return
    this.#state = 'lost'
    this.#resetReady()
    this.#engine.retire()
    this.#retired.push(this.#engine)
    this.#endPauses()
    this.#options.onLost()
    void this.#rejoin()
  }

  /**
   * Runs what needs the media node, now or as soon as there is media again, and once more when it was lost under it.
   * Rejects as `task` does, and with UNAVAILABLE when the session ends first.
   */
  async run<T>(task: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      const engine = await this.#ready.promise
      try {
        return await task(engine)
      } catch (error) {
        if (!(await this.#wasLost(engine, error))) throw error
      }
    }
  }

  /** As `run`, for what was there before a loss: what cannot be had just now is tried again for some time. */
  async restore(task: (engine: Engine) => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const engine = await this.#ready.promise
      try {
        await task(engine)
        if (this.isCurrent(engine)) return
      } catch (error) {
        if (!this.isCurrent(engine)) continue
        const isOver = this.#options.clock.now() - this.#upSince >= MEDIA_TIMEOUTS.restoreStreams
        if (isOver || !isTransient(error)) throw error
        await this.#pause(this.#delay(attempt))
      }
    }
  }

  /** Nothing received from lost nodes is shown any more. */
  closeRetired(): void {
    for (const engine of this.#retired.splice(0)) engine.close()
  }

  close(): void {
    if (this.#state === 'closed') return
    if (this.#state === 'up') this.#resetReady()
    this.#state = 'closed'
    this.#engine.close()
    this.closeRetired()
    this.#ready.reject(new ServiceError('UNAVAILABLE', 'the session has been left'))
    this.#endPauses()
  }

  #resetReady(): void {
    this.#ready = deferred()
    this.#ready.promise.catch(() => {})
  }

  async #wasLost(engine: Engine, error: unknown): Promise<boolean> {
    if (this.isCurrent(engine) && isNodeUnreachable(error)) await this.#pause(MEDIA_TIMEOUTS.lossReport)
    return this.#state !== 'closed' && !this.isCurrent(engine)
  }

  async #rejoin(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const due = this.#notBefore - this.#options.clock.now()
      await this.#pause(Math.max(due, attempt === 0 ? 0 : this.#delay(attempt)))
      if (this.#state === 'closed') return
      const found = await this.#tryRejoin()
      if (!found) continue
      if (this.#isStale(found.epoch)) {
        found.engine.close()
        continue
      }
      return this.#use(found.engine, found.epoch)
    }
  }

  async #tryRejoin(): Promise<{ engine: Engine; epoch: number } | undefined> {
    try {
      const { snapshot, ...place } = await this.#options.rejoin()
      const epoch = snapshot.mediaEpoch
      if (this.#isStale(epoch)) return undefined
      this.#options.onRejoined(snapshot)
      return { engine: await this.#options.open(place), epoch }
    } catch (error) {
      const isRefused = error instanceof ServiceError && isPermanent(error.code)
      if (isRefused && this.#state === 'lost') this.#options.onRefused()
      return undefined
    }
  }

  /** Left, or lost again, while the answer was out. */
  #isStale(epoch: number): boolean {
    return this.#state === 'closed' || epoch < this.#newest
  }

  #use(engine: Engine, epoch: number): void {
    this.#engine = engine
    this.#newest = epoch
    this.#state = 'up'
    this.#upSince = this.#options.clock.now()
    this.#ready.resolve(engine)
    this.#options.onRestored(engine)
  }

  #delay(attempt: number): number {
    return retryDelay(attempt, this.#options.clock.random())
  }

  #endPauses(): void {
    for (const wake of [...this.#pauses]) wake()
  }

  /** Waits, but not longer than until the media is lost or the session over. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        this.#pauses.delete(wake)
        resolve()
      }
      const cancel = this.#options.clock.after(Math.max(ms, 0), wake)
      this.#pauses.add(wake)
    })
  }
}
