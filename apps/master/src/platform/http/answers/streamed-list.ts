import { Readable } from 'node:stream'
import { StreamableFile } from '@nestjs/common'
import { Semaphore, SharedWork } from '@session-service/server-kit'

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
type ReadPage<R extends Position> = (after: Position | undefined) => Promise<R[]>

/** The names of a list's members in JSON. */
interface ListNames {
  items: string
  count: string
}
const CONTENT: ListNames = { items: 'content', count: 'numberOfElements' }

/** Converts each view of a list to what the caller answers. */
export interface ListFormat<V> {
  /** Unique. */
  name: string
  convert: (view: V) => object
}
export const PLAIN_FORMAT: ListFormat<object> = { name: 'plain', convert: (view) => view }

interface StreamedListOptions<R extends Position> {
  /** The content of the list and its form: lists with equal keys are equal. */
  key: readonly (string | boolean)[]
  readPage: ReadPage<R>
  view: (row: R) => object
  names?: ListNames
}

interface RenderedPage {
  rows: number
  /** The rows in JSON, with commas between them. */
  json: Buffer
  last: Position | undefined
}

const JSON_TYPE = 'application/json; charset=utf-8'
/** A list of one page that is smaller is written at once, bytes. */
const SMALL = 65_536
const COMMA = Buffer.from(',')

/** Equal lists that are read at the same time read, convert and write each of their pages once. */
const sharedPages = new SharedWork<RenderedPage>()

/**
 * The contract's list, `{content, numberOfElements}` unless `names` has others, written page by page at the speed of the
 * client: memory does not grow with its length, and no database connection waits for a slow client. The rows of one page
 * are of one moment, those of the whole list are not. A failure before the first byte rejects; a later one aborts the
 * answer.
 */
export async function streamedList<R extends Position>(options: StreamedListOptions<R>): Promise<StreamableFile> {
  const first = await renderedPage(options)
  const { items, count } = options.names ?? CONTENT
  if (first.rows < PAGE_ROWS && first.json.length < SMALL) {
    const whole = Buffer.from(`{"${items}":[${first.json.toString()}],"${count}":${first.rows}}`)
    // Not the buffer itself, whose length would be sent: for clients of version 2, names in it are replaced.
    return new StreamableFile(Readable.from([whole], { objectMode: false }), { type: JSON_TYPE })
  }
  return new StreamableFile(Readable.from(pieces(first, options), { objectMode: false }), { type: JSON_TYPE })
}

function renderedPage<R extends Position>(
  { key, readPage, view }: StreamedListOptions<R>,
  after?: Position,
): Promise<RenderedPage> {
  return sharedPages.run(JSON.stringify([...key, after?.createdAt, after?.id]), async () => {
    const rows = await (after ? laterPages.run(() => readPage(after)) : readPage(after))
    const last = rows.at(-1)
    return {
      rows: rows.length,
      json: Buffer.from(rows.map((row) => JSON.stringify(view(row))).join(',')),
      last: last && { createdAt: last.createdAt, id: last.id },
    }
  })
}

async function* pieces<R extends Position>(
  first: RenderedPage,
  options: StreamedListOptions<R>,
): AsyncGenerator<Buffer> {
  const { items, count: total } = options.names ?? CONTENT
  let count = 0
  for (let page = first; ; page = await renderedPage(options, page.last)) {
    if (count === 0) yield Buffer.from(`{"${items}":[`)
    else if (page.rows > 0) yield COMMA
    yield page.json
    count += page.rows
    if (page.rows < PAGE_ROWS) break
  }
  yield Buffer.from(`],"${total}":${count}}`)
}
