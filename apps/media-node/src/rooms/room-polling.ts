import type { Logger } from '@nestjs/common'
import { AlignedInterval } from '@session-service/server-kit'
import type { Rooms } from './rooms.js'

interface RoomPollingOptions {
  /** Time between two calls, ms. */
  everyMs: number
  /** Names the calls in the log of a failure. */
  what: string
  logger: Pick<Logger, 'warn'>
}

/** Calls a task in an interval while the node has rooms, and never while the former call still runs. */
export class RoomPolling {
  #timer: AlignedInterval | undefined
  #isBusy = false
  #stopListening: () => void = () => undefined

  constructor(
    private readonly rooms: Pick<Rooms, 'size' | 'onOpened'>,
    private readonly task: () => Promise<void>,
    private readonly options: RoomPollingOptions,
  ) {}

  start(): void {
    this.#stopListening = this.rooms.onOpened(() => this.#resume())
    if (this.rooms.size > 0) this.#resume()
  }

  stop(): void {
    this.#stopListening()
    this.#pause()
  }

  #resume(): void {
    this.#timer ??= new AlignedInterval(() => void this.#tick(), this.options.everyMs).unref()
  }

  #pause(): void {
    this.#timer?.stop()
    this.#timer = undefined
  }

  async #tick(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    // The task runs once more after the end of the last room.
    if (this.rooms.size === 0) this.#pause()
    await this.task().catch((err: unknown) => this.options.logger.warn({ err }, `${this.options.what} failed`))
    this.#isBusy = false
  }
}
