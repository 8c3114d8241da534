import { ServiceError } from '@session-service/contract'
import type { ClusterSummary, LiveQuery, LiveViewName } from '@session-service/contract/dashboard'
import { HTTP_STATUS, Semaphore, translateDatabaseError } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { shuttingDown } from '../../../platform/http/answers/shutting-down.js'
import { ClusterSummaryReader } from '../views/cluster-summary.service.js'
import { LiveViewReader } from '../views/live-view-reader.service.js'
import type { Rights } from '../views/rights.js'
import { Feed } from './feed.js'
import { LiveStream, type Update } from './live-stream.js'

const EVERY_MS = 2_000
const MAX_STREAMS = 200
/** Reads at the same time, so that other calls find a free database connection. */
const MAX_READS = 3

interface LiveRequest<V extends LiveViewName = LiveViewName> {
  view: V
  query: LiveQuery<V>
  rights: Rights
}

const failure = (feed: Update['feed'], status: number, message: string): Update => ({
  feed,
  event: 'failure',
  data: JSON.stringify({ feed, status, message }),
  isLast: status === 404,
})

/** Clocks advance between two summaries: the time alone is no change. */
const summaryUpdate = (summary: ClusterSummary): Update => ({
  feed: 'summary',
  event: 'summary',
  data: JSON.stringify(summary),
  comparable: JSON.stringify({ ...summary, now: 0 }),
})

/** The streams of live views. Streams of the same view with the same rights share its reads. */
@Injectable()
export class LiveViewStreams implements OnModuleDestroy {
  readonly #logger = new Logger(LiveViewStreams.name)
  readonly #feeds = new Map<string, Feed>()
  readonly #streams = new Set<LiveStream>()
  readonly #reads = new Semaphore(MAX_READS)
  #isClosed = false

  constructor(
    private readonly summaries: ClusterSummaryReader,
    private readonly views: LiveViewReader,
  ) {}

  /** A stream that lasts until its client closes it, or for `lifetimeMs`. @throws ServiceError UNAVAILABLE */
  open({ view, query, rights }: LiveRequest, lifetimeMs?: number): LiveStream {
    if (this.#isClosed) throw shuttingDown()
    if (this.#streams.size >= MAX_STREAMS)
      throw new ServiceError('UNAVAILABLE', `this master has its maximum of ${MAX_STREAMS} live views`)
    const stream = new LiveStream()
    this.#streams.add(stream)
    stream.once('close', () => this.#streams.delete(stream))
    if (lifetimeMs !== undefined) endAfter(stream, lifetimeMs)
    this.#feed('summary', [rights], async () => summaryUpdate(await this.summaries.read(rights))).attach(stream)
    this.#feed('view', [view, query, rights], async () => ({
      feed: 'view',
      event: 'view',
      data: JSON.stringify(await this.views.read(view, query, rights)),
    })).attach(stream)
    return stream
  }

  /** Reads all open views at once: something has changed. */
  refresh(): void {
    for (const feed of this.#feeds.values()) feed.refresh()
  }

  /** Before HTTP closes, which waits for open answers. */
  async onModuleDestroy(): Promise<void> {
    this.#isClosed = true
    const open = [...this.#streams]
    const closed = open.map((stream) => new Promise((resolve) => stream.once('close', resolve)))
    for (const stream of open) stream.finish()
    await Promise.all(closed)
  }

  #feed(name: Update['feed'], parts: unknown[], read: () => Promise<Update>): Feed {
    const key = JSON.stringify([name, ...parts])
    const known = this.#feeds.get(key)
    if (known) return known
    const feed = new Feed(
      () => this.#reads.run(read).catch((error: unknown) => this.#failed(name, error)),
      EVERY_MS,
      () => this.#feeds.delete(key),
    )
    this.#feeds.set(key, feed)
    return feed
  }

  #failed(feed: Update['feed'], error: unknown): Update {
    const known = error instanceof ServiceError ? error : translateDatabaseError(error)
    if (known && known.code !== 'INTERNAL') return failure(feed, HTTP_STATUS[known.code], known.message)
    this.#logger.error({ err: error }, 'reading a live view failed')
    return failure(feed, 500, 'internal error')
  }
}

function endAfter(stream: LiveStream, ms: number): void {
  const timer = setTimeout(() => {
    stream.send(failure('view', 401, 'the sign-in has expired'))
    stream.finish()
  }, ms)
  stream.once('close', () => clearTimeout(timer))
}
