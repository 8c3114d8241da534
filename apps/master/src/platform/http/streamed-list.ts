import { Readable } from 'node:stream'
import { StreamableFile } from '@nestjs/common'
import { Turns } from './turns.js'

/** Rows of one statement; small enough that the first byte of an answer does not wait. */
export const PAGE_ROWS = 200

/**
 * Later pages of all lists, at most four reads at a time: other calls find a free database connection. First pages do
 * not wait here, so that a call ends in time when the database does not answer.
 */
const laterPages = new Turns(4)

/** Where in the order by creation a page ends. */
export interface Position {
  createdAt: number
  id: string
}

/** No row was created before this. */
export const BEFORE_ALL: Position = { createdAt: 0, id: '' }

/** At most `PAGE_ROWS` rows after the position, in the order by creation. */
export type ReadPage<R extends Position> = (after: Position | undefined) => Promise<R[]>

/** What the members of a list are called. */
interface ListNames {
  items: string
  count: string
}
const CONTENT: ListNames = { items: 'content', count: 'numberOfElements' }

/**
 * The contract's list, `{content, numberOfElements}` unless it is called otherwise, written page by page as fast as it is taken: memory does not grow
 * with its length, and no database connection waits for a slow reader. Each row shows one moment, not the whole list.
 * What fails before the first byte rejects; what fails later breaks the answer off.
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
