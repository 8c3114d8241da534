import { prepared } from './prepared-statements.js'
import { type Queryable, rows } from './sql.js'

/** Completes a condition on the column with the key: of one key or of several. */
type IsKey = '= $1' | '= ANY($1)'

/**
 * A statement for the rows of one key, as most requests need it, or of several: that for one key is prepared. That for
 * several is not, because a plan that was made for small tables would read all rows of large ones. `text` has further
 * values from `$2`.
 */
export class KeyedStatement<Row extends object> {
  readonly #ofOne: string
  readonly #ofSeveral: string

  constructor(text: (isKey: IsKey) => string) {
    this.#ofOne = prepared(text('= $1'))
    this.#ofSeveral = text('= ANY($1)')
  }

  rows(queryable: Queryable, keys: readonly string[], ...values: unknown[]): Promise<Row[]> {
    return keys.length === 1
      ? rows<Row>(queryable, this.#ofOne, [keys[0], ...values])
      : rows<Row>(queryable, this.#ofSeveral, [keys, ...values])
  }
}
