import { Client, Pool, type PoolClient, type PoolConfig } from 'pg'

type Release = (release?: boolean | Error) => void
type OnClient = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void

/** How long a sign of life may take, and the pause before the next one is asked for, ms. */
const PROBE_MS = 1_000
const PROBE_AGAIN_MS = 250
/** What the driver says when a server that is there does not answer. */
const SILENCE = /query read timeout|timeout exceeded when trying to connect|due to connection timeout/i

const unanswered = (): Error => Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT' })
const none = (): void => undefined

/**
 * A pool that notices when the server hangs. A client whose query is not answered is thrown away, for what comes next
 * on it would wait behind that query; and until the server gives a sign of life, nobody waits for it: whoever wants a
 * client is refused at once, so that one time-out is all that a caller ever waits for.
 */
export class CircuitBreakerPool extends Pool {
  readonly #config: PoolConfig
  readonly #waiting = new Set<OnClient>()
  #isHung = false

  constructor(config: PoolConfig) {
    super(config)
    this.#config = config
    this.on('connect', (client) => this.#watch(client))
  }

  override connect(): Promise<PoolClient>
  override connect(callback: OnClient): void
  override connect(callback?: OnClient): Promise<PoolClient> | undefined {
    if (callback) {
      this.#give(callback)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#give((error, client) => (client ? resolve(client) : reject(error ?? unanswered())))
    })
  }

  #give(callback: OnClient): void {
    if (this.#isHung) {
      process.nextTick(callback, unanswered(), undefined, none)
      return
    }
    this.#waiting.add(callback)
    super.connect((error, client, done) => {
      // Who was refused meanwhile takes no client any more.
      if (!this.#waiting.delete(callback)) return client && done()
      if (error) this.#suspect(error)
      callback(error, client, done)
    })
  }

  /** Queries whose answer is a promise, which TypeORM's all are. */
  #watch(client: PoolClient): void {
    // A client cut off on its way from the pool to who asked for it has nobody to tell: its next query says so.
    client.on('error', none)
    const query: (...args: unknown[]) => unknown = client.query.bind(client)
    client.query = ((...args: unknown[]) => {
      const answer = query(...args)
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#failed(client, error))
      return answer
    }) as typeof client.query
  }

  #failed(client: PoolClient, error: unknown): void {
    if (!(error instanceof Error) || !SILENCE.test(error.message)) return
    if (client instanceof Client) client.connection.stream.destroy()
    this.#suspect(error)
  }

  #suspect({ message }: Error): void {
    if (this.#isHung || this.ending || !SILENCE.test(message)) return
    this.#isHung = true
    for (const callback of this.#waiting) callback(unanswered(), undefined, none)
    this.#waiting.clear()
    void this.#awaitSignOfLife()
  }

  async #awaitSignOfLife(): Promise<void> {
    while (!this.ending && !(await this.#answers())) {
      await new Promise((resolve) => setTimeout(resolve, PROBE_AGAIN_MS).unref())
    }
    this.#isHung = false
  }

  async #answers(): Promise<boolean> {
    const client = new Client({ ...this.#config, connectionTimeoutMillis: PROBE_MS, query_timeout: PROBE_MS })
    client.on('error', none)
    try {
      await client.connect()
      await client.query('SELECT 1')
      return true
    } catch {
      return false
    } finally {
      client.connection.stream.destroy()
    }
  }
}
