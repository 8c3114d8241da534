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

  /** `text` gets the condition that a column is one of the keys. */
  constructor(text: (isKey: string) => string, type: 'text' | 'bytea' = 'text') {
    this.#ofOne = prepared(text(`= ($1::${type}[])[1]`))
    this.#ofSeveral = text('= ANY($1)')
  }

  rows(queryable: Queryable, keys: readonly unknown[], ...values: unknown[]): Promise<Row[]> {
    return rows<Row>(queryable, keys.length === 1 ? this.#ofOne : this.#ofSeveral, [keys, ...values])
  }
}
