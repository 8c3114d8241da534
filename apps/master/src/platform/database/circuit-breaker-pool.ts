import { isReadOnlyDatabase } from '@session-service/server-kit'
import { Client, DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg'
import { countQueryError } from './database-metrics.js'
import { isWriteRefusal, NO_ANSWER } from './errors.js'
import { isOutdated, withName } from './prepared-statements.js'

type Release = (release?: boolean | Error) => void
type OnClient = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void

/** Time-out of a probe, and the pause before the next one, ms. */
const PROBE_MS = 1_000
const PROBE_EVERY_MS = 250
/** A younger client is not replaced because its server is read-only: a new one would find the same server, ms. */
const READ_ONLY_MS = 1_000
/** The server accepts no writes for this long after a refusal: a master writes its row every two seconds at least, ms. */
const WRITE_REFUSAL_MS = 5_000

const noAnswerError = (): Error => Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT' })
const ignore = (): void => undefined

/** Without the farewell of the protocol, which nothing may receive. */
function destroy(client: unknown): void {
  if (client instanceof Client) client.connection.stream.destroy()
}

/**
 * A connection pool with a circuit breaker for a server that hangs. A client whose query is not answered is destroyed,
 * because later queries on it would wait behind that one. Until a probe is answered, each request for a client is
 * rejected at once, so that a caller waits for one time-out at most. A request that waits too long for a client while the
 * server answers others is rejected alone: the server is busy, and does not hang.
 *
 * After a failover some clients may lead to a machine that is gone, or to a standby, whose connections Postgres and proxies
 * keep open. When one of them is not answered or is refused a write, all clients are replaced before their next use.
 */
export class CircuitBreakerPool extends Pool {
  readonly #config: PoolConfig
  readonly #waiting = new Set<OnClient>()
  readonly #openedAt = new WeakMap<PoolClient, number>()
  #isHung = false
  /** When the server answered a query last, by `performance.now()`. */
  #answeredAt = -Infinity
  /** Clients that were opened before this time are replaced, by `performance.now()`. */
  #replacedBefore = -Infinity
  /** When the server refused a write last, by `performance.now()`. */
  #writeRefusedAt = -Infinity

  constructor(config: PoolConfig) {
    super(config)
    this.#config = config
    this.on('connect', (client) => this.#watch(client))
  }

  override connect(): Promise<PoolClient>
  override connect(callback: OnClient): void
  override connect(callback?: OnClient): Promise<PoolClient> | undefined {
    if (callback) {
      this.#lend(callback)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#lend((error, client) => (client ? resolve(client) : reject(error ?? noAnswerError())))
    })
  }

  #lend(callback: OnClient): void {
    if (this.#isHung) {
      process.nextTick(callback, noAnswerError(), undefined, ignore)
      return
    }
    this.#waiting.add(callback)
    this.#take(callback, performance.now())
  }

  #take(callback: OnClient, requestedAt: number): void {
    super.connect((error, client, done) => {
      // The callback was rejected meanwhile: the client goes back to the pool.
      if (!this.#waiting.has(callback)) return client && done()
      if (client && this.#openingOf(client) < this.#replacedBefore) {
        destroy(client)
        done(true)
        return this.#take(callback, requestedAt)
      }
      this.#waiting.delete(callback)
      if (error) {
        countQueryError(error)
        if (this.#answeredAt < requestedAt) this.#openIfHung(error)
      }
      callback(error, client, done)
    })
  }

  /** Requests for a client that wait, all of them: the pool itself counts those for which it has no client yet. */
  get pending(): number {
    return this.#waiting.size
  }

  /** Whether the server answers and accepts no writes, by the queries of the last seconds. */
  get refusesWrites(): boolean {
    return performance.now() - this.#writeRefusedAt < WRITE_REFUSAL_MS
  }

  /** Names prepared statements, and sees the failures of queries that return a promise, as all of TypeORM's do. */
  #watch(client: PoolClient): void {
    this.#openedAt.set(client, performance.now())
    // Without a listener the loss of an idle client would end the process; the next query on it fails.
    client.on('error', ignore)
    const query: (...args: unknown[]) => unknown = client.query.bind(client)
    client.query = ((...args: unknown[]) => {
      const named = withName(args[0], args[1])
      const answer = named ? query(named) : query(...args)
      if (answer instanceof Promise)
        void answer.then(
          () => this.#noteAnswer(),
          (error: unknown) => this.#handleFailure(client, error),
        )
      return answer
    }) as typeof client.query
  }

  #openingOf(client: PoolClient): number {
    return this.#openedAt.get(client) ?? Infinity
  }

  #noteAnswer(): void {
    this.#answeredAt = performance.now()
  }

  #handleFailure(client: PoolClient, error: unknown): void {
    countQueryError(error)
    if (error instanceof DatabaseError) this.#noteAnswer()
    if (!(error instanceof Error)) return
    const isHung = NO_ANSWER.test(error.message)
    const now = performance.now()
    if (isWriteRefusal(error)) this.#writeRefusedAt = now
    const isReplaced = isReadOnlyDatabase(error) && now - this.#openingOf(client) >= READ_ONLY_MS
    if (isReplaced) this.#replacedBefore = now
    if (isHung || isReplaced || isOutdated(error)) destroy(client)
    if (isHung) this.#openIfHung(error)
  }

  #openIfHung({ message }: Error): void {
    if (this.#isHung || this.ending || !NO_ANSWER.test(message)) return
    this.#isHung = true
    this.#replacedBefore = performance.now()
    for (const callback of this.#waiting) callback(noAnswerError(), undefined, ignore)
    this.#waiting.clear()
    void this.#probeUntilAnswered()
  }

  async #probeUntilAnswered(): Promise<void> {
    while (!this.ending && !(await this.#answers())) {
      // Not the server kit's sleep: this timer must not keep the process alive.
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS).unref())
    }
    this.#isHung = false
  }

  async #answers(): Promise<boolean> {
    const client = new Client({ ...this.#config, connectionTimeoutMillis: PROBE_MS, query_timeout: PROBE_MS })
    client.on('error', ignore)
    try {
      await client.connect()
      await client.query('SELECT 1')
      return true
    } catch {
      return false
    } finally {
      destroy(client)
    }
  }
}
