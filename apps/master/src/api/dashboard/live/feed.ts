import type { LiveStream, Update } from './live-stream.js'

const comparableOf = ({ event, data, comparable = data }: Update): string => `${event} ${comparable}`

/** Reads at an interval while at least one stream is attached, and sends what has changed to all of them. */
export class Feed {
  readonly #streams = new Set<LiveStream>()
  #last: Update | undefined
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  /** A change was announced during the current read, which may have missed it. */
  #isOutdated = false

  /** `read` never rejects. `onIdle` is called when the last stream is gone. */
  constructor(
    private readonly read: () => Promise<Update>,
    private readonly everyMs: number,
    private readonly onIdle: () => void,
  ) {}

  attach(stream: LiveStream): void {
    this.#streams.add(stream)
    stream.once('close', () => this.#detach(stream))
    if (this.#last) this.#sendTo(stream, this.#last)
    else if (!this.#isReading) void this.#run()
  }

  /** Reads at once. */
  refresh(): void {
    clearTimeout(this.#timer)
    if (this.#isReading) this.#isOutdated = true
    else void this.#run()
  }

  async #run(): Promise<void> {
    this.#isReading = true
    do {
      this.#isOutdated = false
      this.#publish(await this.read())
    } while (this.#isOutdated && this.#streams.size > 0)
    this.#isReading = false
    if (this.#streams.size > 0) this.#timer = setTimeout(() => void this.#run(), this.everyMs)
  }

  #publish(update: Update): void {
    if (this.#last && comparableOf(this.#last) === comparableOf(update)) return
    this.#last = update
    for (const stream of this.#streams) this.#sendTo(stream, update)
  }

  /** Nothing follows when the subject of the view is gone. */
  #sendTo(stream: LiveStream, update: Update): void {
    stream.send(update)
    if (update.isLast) stream.finish()
  }

  #detach(stream: LiveStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    clearTimeout(this.#timer)
    this.onIdle()
  }
}
