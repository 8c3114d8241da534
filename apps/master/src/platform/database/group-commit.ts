import { withoutSpan } from '@session-service/server-kit'
import { observeBatch } from './database-metrics.js'

/** When a batch fails, items that have waited for longer than this fail with it instead of trying another batch, ms. */
const MAX_WAIT_MS = 1_000
/** Items that wait for longer than this get a writer of their own beside the current one, ms. */
const SLOW_MS = 10
/** Items of failed batches that are written one by one at the same time. */
const MOST_ALONE = 4
/** Such an item is written only this long after its batch, ms: a little longer than one of them waits for a lock. */
const ALONE_WITHIN_MS = 1_750

/**
 * Writes the items of many requests with one statement and one commit. Items that arrive while a batch is written, or
 * together with its answer, make the next batch, so that batches grow with the load and a single request does not wait.
 * A second batch is written beside one that takes long, because that may wait for a lock. When one item makes a batch
 * fail, its items are written one by one beside the next batches. Each call resolves after the commit of its item.
 */
export class GroupCommit<Item, Result> {
  #waiting: Pending<Item, Result>[] = []
  #writing = 0
  #isStarting = false
  #slow: NodeJS.Timeout | undefined
  /** Items of batches that failed, to be written one by one. */
  readonly #alone: Failed<Item, Result>[] = []
  #writingAlone = 0

  /**
   * `table` is for the metrics; undefined: there are none. `write` gives one result or error for each item, in their
   * order; it gets at most `maxBatch` items.
   */
  constructor(
    private readonly table: string | undefined,
    private readonly write: (items: Item[]) => Promise<(Result | Error)[]>,
    private readonly isItemFault: (error: unknown) => boolean,
    private readonly maxBatch = 500,
    private readonly maxWriters = 2,
    /** Monotonic ms. */
    private readonly now = () => performance.now(),
  ) {}

  add(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject, since: this.now() })
      if (this.#writing === 0) this.#startSoon()
      else if (this.#writing < this.maxWriters) this.#startIfSlow()
    })
  }

  /** In the next turn of the event loop, so that requests that arrived together are written together. */
  #startSoon(): void {
    if (this.#isStarting) return
    this.#isStarting = true
    setImmediate(() => {
      this.#isStarting = false
      withoutSpan(() => this.#next())
    })
  }

  #startIfSlow(): void {
    this.#slow ??= setTimeout(() => withoutSpan(() => this.#next()), SLOW_MS)
  }

  #next(): void {
    clearTimeout(this.#slow)
    this.#slow = undefined
    if (this.#writing >= this.maxWriters || this.#waiting.length === 0) return
    const batch = this.#waiting.splice(0, this.maxBatch)
    this.#writing++
    void this.#commit(batch).finally(() => {
      this.#writing--
      if (this.#waiting.length > 0) this.#startSoon()
    })
  }

  async #commit(batch: Pending<Item, Result>[]): Promise<void> {
    const startedAt = this.now()
    try {
      const results = await this.write(batch.map(({ item }) => item))
      if (this.table) observeBatch(this.table, batch.length, this.now() - startedAt)
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined || result instanceof Error) reject(result ?? new Error('no result for an item'))
        else resolve(result)
      })
    } catch (error) {
      // An invalid item must fail neither the other items of its batch nor those that wait.
      if (!this.isItemFault(error)) this.#fail([...batch, ...this.#takeOverdue()], error)
      else if (batch.length > 1) this.#writeOneByOne(batch, error)
      else this.#fail(batch, error)
    }
  }

  #writeOneByOne(batch: readonly Pending<Item, Result>[], error: unknown): void {
    const failedAt = this.now()
    this.#alone.push(...batch.map((pending) => ({ pending, error, failedAt })))
    while (this.#writingAlone < MOST_ALONE && this.#alone.length > 0) void this.#writeAlone()
  }

  async #writeAlone(): Promise<void> {
    this.#writingAlone++
    for (let failed = this.#alone.shift(); failed; failed = this.#alone.shift()) {
      const { pending, error, failedAt } = failed
      if (this.now() - failedAt > ALONE_WITHIN_MS) pending.reject(error)
      else await this.#commit([pending])
    }
    this.#writingAlone--
  }

  #fail(items: readonly Pending<Item, Result>[], error: unknown): void {
    for (const { reject } of items) reject(error)
  }

  /** Items that have waited for long. */
  #takeOverdue(): Pending<Item, Result>[] {
    const firstRecent = this.#waiting.findIndex(({ since }) => this.now() - since <= MAX_WAIT_MS)
    return this.#waiting.splice(0, firstRecent < 0 ? this.#waiting.length : firstRecent)
  }
}

/** The items of a batch without those whose key an earlier one has, for a statement that changes each row once. */
export function firstOfEach<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const first = new Map<string, Item>()
  for (const item of items) if (!first.has(keyOf(item))) first.set(keyOf(item), item)
  return [...first.values()]
}

interface Failed<Item, Result> {
  pending: Pending<Item, Result>
  /** The error of its batch. */
  error: unknown
  failedAt: number
}

interface Pending<Item, Result> {
  item: Item
  since: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
