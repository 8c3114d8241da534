import { backoffMs } from '@session-service/server-kit'
import type { EntityManager } from 'typeorm'
import type { EventLog } from './event-log.js'
import type { OutboxRepository, QueuedEvent, SerialConsumer } from './outbox.repository.js'

/** Interval of reading the outbox, ms: for events of other masters. */
const POLL_EVERY_MS = 1_000
/** Least interval between the starts of two reads, ms: events that follow one another closely are handled together. */
const READ_EVERY_MS = 100
/** Delays after a failure of the handler. */
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
  /** An event was recorded since the last read began. */
  #isWoken = false
  /** When the last read began, by `performance.now()`. */
  #readAt = -Infinity

  constructor(private readonly options: OutboxReaderOptions) {}

  start(): void {
    this.options.events.onRecorded(() => this.#wake())
    this.#read()
  }

  /** Resolves when the batch in progress is handled. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#reading
  }

  #wake(): void {
    // After a failure, events do not shorten the delay of the retry.
    if (this.#isWoken || this.#failures > 0) return
    this.#isWoken = true
    if (!this.#reading) this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (!this.#isStopping) this.#timer = setTimeout(() => this.#read(), this.#delayMs())
  }

  #delayMs(): number {
    if (this.#failures > 0) return backoffMs(this.#failures, RETRY)
    return this.#isWoken ? Math.max(this.#readAt + READ_EVERY_MS - performance.now(), 0) : POLL_EVERY_MS
  }

  #read(): void {
    this.#isWoken = false
    this.#readAt = performance.now()
    this.#reading = this.#readAll().finally(() => {
      this.#reading = undefined
      this.#schedule()
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
