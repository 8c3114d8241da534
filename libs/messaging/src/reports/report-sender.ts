import { newSecret, NodeFact, NodeFactAnswer, ServiceError, SUBJECT } from '@session-service/contract'
import { backoffMs, messageOf } from '@session-service/server-kit/async'
import type { z } from 'zod'
import type { Bus } from '../bus/bus.js'
import { warnOfProblem, type OnProblem } from '../connection/problem.js'
import type { Rpc } from '../bus/wire.js'

/**
 * Masters serve it on `SUBJECT.allFacts` in the queue group `QUEUE.masters`, and on `SUBJECT.allRepeatedFacts` without
 * one. The deadline is that of one attempt.
 */
export const REPORT_RPC = [NodeFact, NodeFactAnswer, 2_000] as const satisfies Rpc<
  typeof NodeFact,
  typeof NodeFactAnswer
>

/** Participants have no media until a master has handled these. */
const URGENT: ReadonlySet<NodeFact['kind']> = new Set(['goodbye', 'roomsLost'] as const)
/** Longer than a healthy master needs, and short for a participant without media. */
const REPEAT_MS = 250

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
/** A report without its id and its sender, which ReportSender adds. */
export type ReportBody = Without<z.input<typeof NodeFact>, 'factId' | 'nodeId' | 'bootId'>

export interface ReportSenderOptions {
  nodeId: string
  bootId: string
  /** Capacity of the queue; further reports are rejected. */
  limit?: number
  attemptMs?: number
  /** When an unanswered urgent report, or the one before it, is repeated to all masters. */
  repeatMs?: number
  firstPauseMs?: number
  longestPauseMs?: number
  onProblem?: OnProblem
}

interface QueuedReport {
  report: z.input<typeof NodeFact>
  resolve: (answer: NodeFactAnswer) => void
  reject: (error: ServiceError) => void
  /** The number of times that a master failed to handle it. */
  failures: number
}

/**
 * Delivers reports to the masters in order and at least once: it retries each one until a master acknowledges it, also
 * during a long outage of the bus. A report that masters fail to handle moves to the end of the queue. A retry carries
 * the same `factId`. A frozen master that stays in the queue group delays urgent reports by `repeatMs` only: then all
 * masters receive them.
 */
export class ReportSender {
  readonly #bus: Pick<Bus, 'request' | 'onStatus'>
  readonly #options: Required<ReportSenderOptions>
  readonly #queue: QueuedReport[] = []
  readonly #stopListening: () => void
  #running = false
  #closed = false
  #endPause: (() => void) | undefined

  constructor(bus: Pick<Bus, 'request' | 'onStatus'>, options: ReportSenderOptions) {
    this.#bus = bus
    this.#options = {
      limit: 1_000,
      attemptMs: REPORT_RPC[2],
      repeatMs: REPEAT_MS,
      firstPauseMs: 100,
      longestPauseMs: 2_000,
      onProblem: warnOfProblem,
      ...options,
    }
    this.#stopListening = bus.onStatus((connected) => connected && this.#endPause?.())
  }

  /** The number of unacknowledged reports. */
  get pending(): number {
    return this.#queue.length
  }

  /**
   * Resolves with the master's answer when it is acknowledged. It may stay unawaited: it causes no unhandled rejection.
   * @throws ServiceError NO_CAPACITY when the queue is full, INVALID when masters reject it, UNAVAILABLE after `close`
   */
  send(body: ReportBody): Promise<NodeFactAnswer> {
    const { nodeId, bootId, limit } = this.#options
    const sent = new Promise<NodeFactAnswer>((resolve, reject) => {
      if (this.#closed) return reject(new ServiceError('UNAVAILABLE', 'reporting has stopped'))
      if (this.#queue.length >= limit)
        return reject(new ServiceError('NO_CAPACITY', `the queue of ${limit} reports is full`))
      this.#queue.push({ report: { ...body, factId: newSecret(), nodeId, bootId }, resolve, reject, failures: 0 })
      void this.#run()
    })
    sent.catch((error: unknown) => this.#reportFailure(error))
    return sent
  }

  /** Rejects all unacknowledged reports. */
  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#endPause?.()
    for (const { reject } of this.#queue.splice(0)) reject(new ServiceError('UNAVAILABLE', 'reporting has stopped'))
  }

  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      if (next.failures > 0) await this.#pause(next.failures)
      const settle = await this.#deliver(next)
      if (this.#queue[0] === next) this.#queue.shift()
      if (settle) settle()
      else this.#queue.push(next)
    }
    this.#running = false
  }

  /** Returns a function that settles the caller's promise; undefined when a master failed and other reports are queued. */
  async #deliver(queued: QueuedReport): Promise<(() => void) | undefined> {
    const { report, resolve, reject } = queued
    for (let attempt = 1; !this.#closed; attempt += 1) {
      try {
        const answer = await this.#attempt(report)
        return () => resolve(answer)
      } catch (error) {
        // A retry of an invalid report cannot succeed, and must not block the reports behind it.
        if (error instanceof ServiceError && error.code === 'INVALID') return () => reject(error)
        if (error instanceof ServiceError && error.code === 'INTERNAL' && this.#queue.length > 1) {
          queued.failures += 1
          return undefined
        }
      }
      await this.#pause(attempt)
    }
    return () => undefined
  }

  /** The first answer counts. */
  async #attempt(report: QueuedReport['report']): Promise<NodeFactAnswer> {
    const { nodeId, attemptMs, repeatMs } = this.#options
    const send = (subject: string): Promise<NodeFactAnswer> =>
      this.#bus.request(subject, REPORT_RPC, report, { timeoutMs: attemptMs })
    let timer: NodeJS.Timeout | undefined
    const repeated = new Promise<NodeFactAnswer>((resolve) => {
      timer = setInterval(() => {
        if (!this.#isUrgent(report)) return
        clearInterval(timer)
        // The request in progress decides about failures, also where the bus does not permit this one.
        send(SUBJECT.repeatedFact(nodeId)).then(resolve, () => undefined)
      }, repeatMs)
    })
    try {
      return await Promise.race([send(SUBJECT.fact(nodeId)), repeated])
    } finally {
      clearInterval(timer)
    }
  }

  /** A registration takes long when masters ask the former holder of the id, and not all of them shall do that. */
  #isUrgent({ kind }: QueuedReport['report']): boolean {
    return kind !== 'hello' && this.#queue.some(({ report }) => URGENT.has(report.kind))
  }

  /** Waits for the back-off delay; a reconnection of the bus ends it early. */
  async #pause(failures: number): Promise<void> {
    const { firstPauseMs, longestPauseMs } = this.#options
    const delayMs = backoffMs(failures, { firstMs: firstPauseMs, longestMs: longestPauseMs })
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = undefined
  }

  #reportFailure(error: unknown): void {
    if (this.#closed) return
    const subject = SUBJECT.fact(this.#options.nodeId)
    this.#options.onProblem({
      kind: 'answer',
      subject,
      message: `a report was not delivered: ${messageOf(error)}`,
      error,
    })
  }
}
