import type { Clock } from '../platform/clock.js'
import { type Deferred, deferred } from '../platform/deferred.js'
import type { InterruptibleDelay } from '../platform/delay.js'
import { CallBudget } from './call-budget.js'

interface Waiting<T> {
  readonly order: number
  readonly bytes: number
  readonly turn: Deferred<T>
}

export const bytesOf = (params: unknown): number => new TextEncoder().encode(JSON.stringify(params)).length

/**
 * Lets calls pass when there is a socket and the server's limits permit them, in the order in which they were made. A call
 * that is sent again keeps its place.
 */
export class CallQueue<T> {
  #lastOrder = 0
  #isRunning = false
  readonly #waiting: Waiting<T>[] = []
  readonly #budget: CallBudget
  readonly #clock: Clock
  readonly #delay: InterruptibleDelay
  readonly #ready: () => Promise<T>

  /** `ready` returns the current socket when it is usable, and rejects at the end. `delay` is interrupted then. */
  constructor(clock: Clock, delay: InterruptibleDelay, ready: () => Promise<T>) {
    this.#clock = clock
    this.#delay = delay
    this.#ready = ready
    this.#budget = new CallBudget(clock.now())
  }

  /** Adds a call. The returned function waits for its turn, each time it is sent. */
  add(params: unknown): () => Promise<T> {
    const [order, bytes] = [++this.#lastOrder, bytesOf(params)]
    return () => this.#wait(order, bytes)
  }

  #wait(order: number, bytes: number): Promise<T> {
    const turn = deferred<T>()
    const next = this.#waiting.findIndex((other) => other.order > order)
    this.#waiting.splice(next === -1 ? this.#waiting.length : next, 0, { order, bytes, turn })
    if (!this.#isRunning) void this.#run()
    return turn.promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      for (;;) {
        const socket = await this.#ready()
        const [first] = this.#waiting
        if (!first) break
        const ms = this.#budget.take(first.bytes, this.#clock.now())
        if (ms > 0) await this.#delay.wait(ms)
        else this.#waiting.shift()?.turn.resolve(socket)
      }
    } catch (error) {
      for (const { turn } of this.#waiting.splice(0)) turn.reject(error)
    }
    this.#isRunning = false
  }
}
