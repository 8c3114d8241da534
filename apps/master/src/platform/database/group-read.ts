import { errorClass } from './errors.js'
import { GroupCommit } from './group-commit.js'

/**
 * Reads the values of the keys that many requests ask for with one statement, of equal keys once. A read begins after the
 * call of `get`, and so contains every change that was committed before. Requests that arrive during one make the next.
 */
export class GroupRead<Key, Value> {
  readonly #reads: GroupCommit<Key, Value | null>

  /**
   * `read` gives no value for a key without a row, and an error for one whose read failed alone. `most`: keys of one read,
   * and reads at the same time.
   */
  constructor(
    read: (keys: Key[]) => Promise<ReadonlyMap<Key, Value | Error>>,
    most: { keys?: number; reads?: number } = {},
  ) {
    this.#reads = new GroupCommit<Key, Value | null>(
      undefined,
      async (keys) => {
        const values = await read([...new Set(keys)])
        return keys.map((key) => values.get(key) ?? null)
      },
      // A row that another transaction keeps locked must not fail the reads of the others.
      (error) => ['lock', 'conflict'].includes(errorClass(error)),
      most.keys,
      most.reads,
    )
  }

  async get(key: Key): Promise<Value | undefined> {
    return (await this.#reads.add(key)) ?? undefined
  }
}

/** The rows of each session in their order, without its id. */
export function rowsBySession<Row extends { sessionId: string }>(all: Row[]): Map<string, Omit<Row, 'sessionId'>[]> {
  const bySession = Map.groupBy(all, ({ sessionId }) => sessionId)
  return new Map([...bySession].map(([sessionId, found]) => [sessionId, found.map(withoutSession)]))
}

function withoutSession<Row extends { sessionId: string }>(row: Row): Omit<Row, 'sessionId'> {
  const { sessionId: _, ...members } = row
  return members
}
