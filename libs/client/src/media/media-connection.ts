import { ServiceError } from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { type Deferred, deferred } from '../platform/deferred.js'
import { InterruptibleDelay } from '../platform/delay.js'
import type { Engine, MediaLocation } from './engine.js'
import type { RejoinResult } from '../signalling/signalling.js'
import { isPermanent, isTransient, retryDelay } from '../signalling/retry.js'
import { SocketLost } from '../signalling/rpc-socket.js'

interface MediaConnectionOptions {
  readonly clock: Clock
  open(place: MediaLocation): Promise<Engine>
  rejoin(): Promise<RejoinResult>
  /** Called once, also when the next node is lost before the media is restored. */
  onLost(): void
  /** The snapshot in the answer to `rejoin`. Called before later notifications. */
  onRejoined(snapshot: RejoinResult['snapshot']): void
  /** The transports of the next node exist. */
  onRestored(engine: Engine): void
  /** The server refused `rejoin`. */
  onRefused(): void
}

/** ms. */
export const MEDIA_TIMEOUTS = {
  /** A call that the media node did not answer waits this long for a report of the node's loss. */
  lossReport: 6_000,
  /** Streams that are not restored within this time after the own media end. */
  restoreStreams: 15_000,
  /** Clients that detect the loss without a notification rejoin at a random time within this. */
  rejoinSpread: 500,
} as const

/** Tests for the error of a server that did not reach the media node, as opposed to an answer lost with its socket. */
const isNodeUnreachable = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.code === 'UNAVAILABLE' || error.code === 'TIMEOUT') &&
  !(error.cause instanceof SocketLost)

/** The participant's media connection: on one node at a time, moved to the next node after a loss. */
export class MediaConnection {
  #engine: Engine
  /** The engines of lost nodes: their last video frames stay visible until new ones arrive. */
  readonly #retired: Engine[] = []
  /** The newest known epoch: the engine's, or a later one when the media is lost. */
  #newestEpoch: number
  #notBefore = 0
  #state: 'up' | 'lost' | 'closed' = 'up'
  #ready: Deferred<Engine> = deferred()
  #upSince: number
  /** Interrupted at a loss and at the end. */
  readonly #delay: InterruptibleDelay
  readonly #options: MediaConnectionOptions

  constructor(engine: Engine, epoch: number, options: MediaConnectionOptions) {
    this.#options = options
    this.#delay = new InterruptibleDelay(options.clock)
    this.#engine = engine
    this.#newestEpoch = epoch
    this.#upSince = options.clock.now()
    this.#ready.resolve(engine)
  }

  /** The current engine, or the last one after a loss. */
  get engine(): Engine {
    return this.#engine
  }

  isCurrent(engine: Engine | undefined): boolean {
    return this.#state === 'up' && engine === this.#engine
  }

  /**
   * The session's media has reached `epoch`: earlier media is lost, and `rejoin` is permitted after `afterMs`. A known
   * epoch has no effect.
   */
  epochSeen(epoch: number, afterMs = this.#options.clock.random() * MEDIA_TIMEOUTS.rejoinSpread): void {
    if (this.#state === 'closed' || epoch <= this.#newestEpoch) return
    this.#newestEpoch = epoch
    this.#notBefore = this.#options.clock.now() + afterMs
    if (this.#state === 'lost') return
    this.#state = 'lost'
    this.#resetReady()
    this.#engine.retire()
    this.#retired.push(this.#engine)
    this.#delay.interrupt()
    this.#options.onLost()
    void this.#rejoin()
  }

  /**
   * Runs a task that needs the media node, after media is available, and repeats it when the node was lost meanwhile.
   * Rejects with the task's error, or with UNAVAILABLE when the session ends first.
   */
  async run<T>(task: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      const engine = await this.#ready.promise
      try {
        return await task(engine)
      } catch (error) {
        if (!(await this.#wasLost(engine, error))) throw this.#translated(error)
      }
    }
  }

  /** Like `run`, but retries transient errors for a limited time. Restores streams after a loss. */
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
        await this.#delay.wait(this.#retryDelay(attempt))
      }
    }
  }

  /** Closes the engines of lost nodes, which ends the display of their last frames. */
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
    this.#delay.interrupt()
  }

  #resetReady(): void {
    this.#ready = deferred()
    this.#ready.promise.catch(() => {})
  }

  async #wasLost(engine: Engine, error: unknown): Promise<boolean> {
    if (this.isCurrent(engine) && isNodeUnreachable(error)) await this.#delay.wait(MEDIA_TIMEOUTS.lossReport)
    return this.#state !== 'closed' && !this.isCurrent(engine)
  }

  /** The end of the session interrupts steps of the browser, whose errors do not say why. */
  #translated(error: unknown): unknown {
    if (this.#state !== 'closed' || error instanceof ServiceError) return error
    return new ServiceError('UNAVAILABLE', 'the session has been left', { cause: error })
  }

  async #rejoin(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const due = this.#notBefore - this.#options.clock.now()
      await this.#delay.wait(Math.max(due, attempt === 0 ? 0 : this.#retryDelay(attempt)))
      if (this.#state === 'closed') return
      const rejoined = await this.#tryRejoin()
      if (!rejoined) continue
      if (this.#isStale(rejoined.epoch)) {
        rejoined.engine.close()
        continue
      }
      return this.#use(rejoined.engine, rejoined.epoch)
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

  /** The session ended, or the media was lost again, while the request was pending. */
  #isStale(epoch: number): boolean {
    return this.#state === 'closed' || epoch < this.#newestEpoch
  }

  #use(engine: Engine, epoch: number): void {
    this.#engine = engine
    this.#newestEpoch = epoch
    this.#state = 'up'
    this.#upSince = this.#options.clock.now()
    this.#ready.resolve(engine)
    this.#options.onRestored(engine)
  }

  #retryDelay(attempt: number): number {
    return retryDelay(attempt, this.#options.clock.random())
  }
}
