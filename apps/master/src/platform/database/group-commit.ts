/** Who has waited this long behind a batch that failed does not wait for another to fail as well, ms. */
const WAITED_ENOUGH_MS = 1_000

/**
 * Many requests, one statement, one commit: what arrives while a batch is being written makes the next batch,
 * so that the group grows with the load and a lone request waits for nobody. Each item is answered after its commit.
 */
export class GroupCommit<Item, Result> {
  private waiting: Pending<Item, Result>[] = []
  private writing = 0

  /** `write` gives one result or error for each item, in their order; it is called with at most `maxBatch` of them. */
  constructor(
    private readonly write: (items: Item[]) => Promise<(Result | Error)[]>,
    private readonly isItemFault: (error: unknown) => boolean,
    private readonly maxBatch = 500,
    private readonly maxWriters = 2,
    /** Monotonic ms. */
    private readonly now = () => performance.now(),
  ) {}

  add(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.waiting.push({ item, resolve, reject, since: this.now() })
      // A turn later, so that requests that arrived together are written together.
      if (this.writing < this.maxWriters) setImmediate(() => this.next())
    })
  }

  private next(): void {
    if (this.writing >= this.maxWriters || this.waiting.length === 0) return
    const batch = this.waiting.splice(0, this.maxBatch)
    this.writing++
    void this.carryOut(batch).finally(() => {
      this.writing--
      this.next()
    })
  }

  private async carryOut(batch: Pending<Item, Result>[]): Promise<void> {
    try {
      const results = await this.write(batch.map(({ item }) => item))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined || result instanceof Error) reject(result ?? new Error('no result for an item'))
        else resolve(result)
      })
    } catch (error) {
      // One bad item must not fail those it happened to be written with.
      if (batch.length > 1 && this.isItemFault(error))
        await Promise.all(batch.map((pending) => this.carryOut([pending])))
      else this.refuse(batch, error)
    }
  }

  private refuse(batch: Pending<Item, Result>[], error: unknown): void {
    const patient = this.waiting.findIndex(({ since }) => this.now() - since <= WAITED_ENOUGH_MS)
    const tired = this.waiting.splice(0, patient < 0 ? this.waiting.length : patient)
    for (const { reject } of [...batch, ...tired]) reject(error)
  }
}

interface Pending<Item, Result> {
  item: Item
  since: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
