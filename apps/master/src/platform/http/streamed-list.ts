import { Readable } from 'node:stream'
import { StreamableFile } from '@nestjs/common'
import { Semaphore } from '@session-service/server-kit'

/** Rows of one statement; few, so that the first byte of an answer is sent soon. */
export const PAGE_ROWS = 200

/**
 * Limits the reads of later pages, of all lists together, so that other calls find a free database connection. First
 * pages do not wait here, so that a call ends in time when the database does not answer.
 */
const laterPages = new Semaphore(4)

/** The last row of a page, in the order by creation. */
export interface Position {
  createdAt: number
  id: string
}

/** The position before all rows. */
export const BEFORE_ALL: Position = { createdAt: 0, id: '' }

/** At most `PAGE_ROWS` rows after the position, in the order by creation. */
export type ReadPage<R extends Position> = (after: Position | undefined) => Promise<R[]>

/** The names of a list's members in JSON. */
interface ListNames {
  items: string
  count: string
}
const CONTENT: ListNames = { items: 'content', count: 'numberOfElements' }

/**
 * The contract's list, `{content, numberOfElements}` unless `names` has others, written page by page at the speed of the
 * client: memory does not grow with its length, and no database connection waits for a slow client. The rows of one page
 * are of one moment, those of the whole list are not. A failure before the first byte rejects; a later one aborts the
 * answer.
 */
export async function streamedList<R extends Position>(
  readPage: ReadPage<R>,
  view: (row: R) => object,
  names: ListNames = CONTENT,
): Promise<StreamableFile> {
  const first = await readPage(undefined)
  return new StreamableFile(Readable.from(pieces(first, readPage, view, names), { objectMode: false }), {
    type: 'application/json; charset=utf-8',
  })
}

async function* pieces<R extends Position>(
  first: R[],
  readPage: ReadPage<R>,
  view: (row: R) => object,
  names: ListNames,
): AsyncGenerator<Buffer> {
  const nextPage = (page: R[]): Promise<R[]> => laterPages.run(() => readPage(page.at(-1)))
  let count = 0
  for (let page = first; ; page = await nextPage(page)) {
    const rows = page.map((row) => JSON.stringify(view(row))).join(',')
    const before = count === 0 ? `{"${names.items}":[` : page.length > 0 ? ',' : ''
    count += page.length
    if (page.length < PAGE_ROWS) {
      yield Buffer.from(`${before}${rows}],"${names.count}":${count}}`)
      return
    }
    yield Buffer.from(before + rows)
  }
}
