import { backoffMs } from '@session-service/server-kit'
import type { EntityManager } from 'typeorm'
import type { EventLog } from './event-log.js'
import type { OutboxRepository, QueuedEvent, SerialConsumer } from './outbox.repository.js'

/** Interval of reading the outbox, ms: for events of other masters. */
const POLL_EVERY_MS = 1_000
/** Of the handler. */
const RETRY = { firstMs: 1_000, longestMs: 30_000 }
/** Events handled per transaction. */
const BATCH = 500

interface OutboxReaderOptions {
  outbox: OutboxRepository
  events: EventLog
  consumer: SerialConsumer
  /** Handles the next events in the transaction that removes them from the outbox. */
  handle: (events: QueuedEvent[], manager: EntityManager) => Promise<void>
  /** The events stay in the outbox, and are read again after a back-off delay. */
  onError: (error: unknown) => void
}

/** Reads the events of one consumer in their order, one master at a time. */
export class OutboxReader {
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> | undefined
  #isStopping = false
  #failures = 0

  constructor(private readonly options: OutboxReaderOptions) {}

  start(): void {
    // After a failure, events do not shorten the delay of the retry.
    this.options.events.onRecorded(() => this.#failures === 0 && this.#poll())
    this.#poll()
  }

  /** Resolves when the batch in progress is handled. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#reading
  }

  #poll(): void {
    if (this.#reading || this.#isStopping) return
    clearTimeout(this.#timer)
    this.#reading = this.#readAll().finally(() => {
      this.#reading = undefined
      const delayMs = this.#failures === 0 ? POLL_EVERY_MS : backoffMs(this.#failures, RETRY)
      if (!this.#isStopping) this.#timer = setTimeout(() => this.#poll(), delayMs)
    })
  }

  async #readAll(): Promise<void> {
    const { outbox, consumer, handle, onError } = this.options
    try {
      let read = BATCH
      while (read === BATCH && !this.#isStopping) read = await outbox.take(consumer, BATCH, handle)
      this.#failures = 0
    } catch (error) {
      this.#failures++
      onError(error)
    }
  }
}
