import { newSecret, NodeFact, NodeFactAnswer, ServiceError, SUBJECT } from '@session-service/contract'
import type { z } from 'zod'
import type { Bus } from './bus.js'
import { messageOf, warnOfProblem, type OnProblem } from './problem.js'
import type { Rpc } from './wire.js'

/** Masters serve `SUBJECT.allFacts` with this in the queue group `QUEUE.masters`; the deadline is that of one attempt. */
export const FACT_RPC = [NodeFact, NodeFactAnswer, 2_000] as const satisfies Rpc<typeof NodeFact, typeof NodeFactAnswer>

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
/** A fact as its teller knows it; who tells it, and its id, are added. */
export type FactBody = Without<z.input<typeof NodeFact>, 'factId' | 'nodeId' | 'bootId'>

export interface FactSenderOptions {
  nodeId: string
  bootId: string
  /** How many facts may wait; what comes on top is refused. */
  limit?: number
  attemptMs?: number
  firstPauseMs?: number
  longestPauseMs?: number
  onProblem?: OnProblem
}

interface Waiting {
  fact: z.input<typeof NodeFact>
  resolve: (answer: NodeFactAnswer) => void
  reject: (error: ServiceError) => void
  /** How often a master failed to handle it. */
  failures: number
}

/**
 * Sends facts to the masters one after the other in the order given, each again and again until a master has
 * acknowledged it, however long the bus is away. A fact that masters fail to handle lets the facts behind it pass.
 * A repeat carries the same `factId`.
 */
export class FactSender {
  readonly #bus: Pick<Bus, 'request' | 'onStatus'>
  readonly #options: Required<FactSenderOptions>
  readonly #waiting: Waiting[] = []
  readonly #stopListening: () => void
  #running = false
  #closed = false
  #wake: (() => void) | undefined

  constructor(bus: Pick<Bus, 'request' | 'onStatus'>, options: FactSenderOptions) {
    this.#bus = bus
    this.#options = {
      limit: 1_000,
      attemptMs: FACT_RPC[2],
      firstPauseMs: 100,
      longestPauseMs: 2_000,
      onProblem: warnOfProblem,
      ...options,
    }
    this.#stopListening = bus.onStatus((connected) => connected && this.#wake?.())
  }

  /** How many are not acknowledged yet. */
  get pending(): number {
    return this.#waiting.length
  }

  /**
   * Resolves with the master's answer once acknowledged. May be left unawaited: it never causes an unhandled rejection.
   * @throws ServiceError NO_CAPACITY when too many wait, INVALID when masters cannot read it, UNAVAILABLE after `close`
   */
  send(body: FactBody): Promise<NodeFactAnswer> {
    const { nodeId, bootId, limit } = this.#options
    const sent = new Promise<NodeFactAnswer>((resolve, reject) => {
      if (this.#closed) return reject(new ServiceError('UNAVAILABLE', 'no more facts are sent'))
      if (this.#waiting.length >= limit) return reject(new ServiceError('NO_CAPACITY', `${limit} facts wait already`))
      this.#waiting.push({ fact: { ...body, factId: newSecret(), nodeId, bootId }, resolve, reject, failures: 0 })
      void this.#run()
    })
    sent.catch((error: unknown) => this.#report(error))
    return sent
  }

  /** Gives up what is not acknowledged yet. */
  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#wake?.()
    for (const { reject } of this.#waiting.splice(0)) reject(new ServiceError('UNAVAILABLE', 'no more facts are sent'))
  }

  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (next.failures > 0) await this.#pause(next.failures - 1)
      const settle = await this.#deliver(next)
      if (this.#waiting[0] === next) this.#waiting.shift()
      if (settle) settle()
      else this.#waiting.push(next)
    }
    this.#running = false
  }

  /** Returns what settles the sender's promise; undefined when a master failed and other facts wait. */
  async #deliver(waiting: Waiting): Promise<(() => void) | undefined> {
    const { fact, resolve, reject } = waiting
    const { nodeId, attemptMs } = this.#options
    for (let attempt = 0; !this.#closed; attempt += 1) {
      try {
        const answer = await this.#bus.request(SUBJECT.fact(nodeId), FACT_RPC, fact, { timeoutMs: attemptMs })
        return () => resolve(answer)
      } catch (error) {
        // What no master can read will not become readable, and must not hold up what follows.
        if (error instanceof ServiceError && error.code === 'INVALID') return () => reject(error)
        if (error instanceof ServiceError && error.code === 'INTERNAL' && this.#waiting.length > 1) {
          waiting.failures += 1
          return undefined
        }
      }
      await this.#pause(attempt)
    }
    return () => undefined
  }

  /** Backs off, but goes on at once when the bus comes back. */
  async #pause(attempt: number): Promise<void> {
    const { firstPauseMs, longestPauseMs } = this.#options
    const longest = Math.min(firstPauseMs * 2 ** Math.min(attempt, 10), longestPauseMs)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, longest * (0.5 + Math.random() / 2))
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }

  #report(error: unknown): void {
    if (this.#closed) return
    const subject = SUBJECT.fact(this.#options.nodeId)
    this.#options.onProblem({ kind: 'answer', subject, message: `a fact was not sent: ${messageOf(error)}`, error })
  }
}
