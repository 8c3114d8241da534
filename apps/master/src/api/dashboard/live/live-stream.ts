import { Readable } from 'node:stream'

/** An event and its data. */
export interface Update {
  /** The state that the update belongs to. */
  feed: 'summary' | 'view'
  event: 'summary' | 'view' | 'failure'
  /** JSON. */
  data: string
  /** Equal when there is nothing new; the data by default. */
  comparable?: string
  /** The stream ends after it. */
  isLast?: boolean
}

/** Proxies close connections that carry nothing for long, and the page takes a silent master for lost after 12 s. */
const KEEP_ALIVE_MS = 5_000
/** Browsers hide comments from the page, and drop events without a line of data. */
const ALIVE = 'event: alive\ndata: \n\n'
/** Time that a slow client has to read the rest before its connection is closed, ms. */
const LINGER_MS = 1_000

/**
 * The server-sent events of one client. A client that reads slowly gets the latest event of each feed when it reads
 * again: memory holds at most one of each.
 */
export class LiveStream extends Readable {
  readonly #pending = new Map<Update['feed'], string>()
  readonly #keepAlive: NodeJS.Timeout
  #isWanted = false
  #isFinished = false

  constructor(keepAliveMs = KEEP_ALIVE_MS) {
    super()
    this.#keepAlive = setInterval(() => this.#sendAlive(), keepAliveMs)
  }

  /** Replaces an event of the same feed that the client has not read. */
  send({ feed, event, data }: Update): void {
    if (this.destroyed || this.#isFinished) return
    this.#pending.set(feed, `event: ${event}\ndata: ${data}\n\n`)
    this.#flush()
  }

  /** Ends the answer after everything that was sent. */
  finish(): void {
    if (this.destroyed || this.#isFinished) return
    this.#isFinished = true
    this.#isWanted = true
    this.#flush()
    this.push(null)
    setTimeout(() => this.destroy(), LINGER_MS).unref()
  }

  override _read(): void {
    this.#isWanted = true
    this.#flush()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearInterval(this.#keepAlive)
    this.#pending.clear()
    callback(error)
  }

  #flush(): void {
    if (!this.#isWanted || this.#pending.size === 0) return
    const text = [...this.#pending.values()].join('')
    this.#pending.clear()
    // Node calls _read again once it wants more.
    this.#isWanted = false
    this.push(text)
  }

  #sendAlive(): void {
    if (!this.#isWanted || this.#isFinished) return
    this.#isWanted = false
    this.push(ALIVE)
  }
}
