import { mapConcurrent } from '@session-service/server-kit'
import { prepared } from './prepared-statements.js'
import { type Queryable, rows } from './sql.js'

/**
 * A statement for the rows of one key, as most requests need it, or of several: that for one key is prepared. Until
 * Postgres analyzes a growing table, a kept plan may read all of its rows: only for statements that would then read each
 * table once, so neither with joins of many rows nor with subqueries for each of many rows. That for several keys is not
 * prepared. Its first value are the keys, an array of `type`.
 */
export class KeyedStatement<Row extends object> {
  readonly #ofOne: string
  readonly #ofSeveral: string

  /**
   * `text` gets the condition that a column is one of the keys, and how a statement for several keys treats locked rows: it
   * skips them, because one that holds the locks of some rows while it waits for others could meet a deadlock.
   */
  constructor(text: (isKey: string, ofLocked: string) => string, type: 'text' | 'bytea' | 'bigint' = 'text') {
    this.#ofOne = prepared(text(`= ($1::${type}[])[1]`, ''))
    this.#ofSeveral = text('= ANY($1)', 'SKIP LOCKED')
  }

  rows(queryable: Queryable, keys: readonly unknown[], ...values: unknown[]): Promise<Row[]> {
    return rows<Row>(queryable, keys.length === 1 ? this.#ofOne : this.#ofSeveral, [keys, ...values])
  }
}

/** Statements that wait for the locks of rows at the same time. */
const CONCURRENT_WAITS = 4

/**
 * The results of items by a statement that skips locked rows: one by one, and waiting for their locks, for those of
 * several items that it did not find. One that fails then has its error: the results of the others are committed.
 */
export async function withLockedRows<Item, Result>(
  items: readonly Item[],
  find: (items: readonly Item[]) => Promise<Map<Item, Result>>,
): Promise<Map<Item, Result | Error>> {
  const found = new Map<Item, Result | Error>(await find(items))
  const others = items.length === 1 ? [] : items.filter((item) => !found.has(item))
  await mapConcurrent(others, CONCURRENT_WAITS, async (item) => {
    try {
      for (const [waited, result] of await find([item])) found.set(waited, result)
    } catch (error) {
      found.set(item, error instanceof Error ? error : new Error(String(error)))
    }
  })
  return found
}
