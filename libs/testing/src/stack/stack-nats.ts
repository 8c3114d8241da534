import { type ClusterUsers, type LocalNats, natsUrlOf, startNats } from '@session-service/local-stack'
import type { Journal } from './journal.js'

/** The NATS server of the stack; `restart` starts it again on the same port. */
export interface StackNats {
  /** The URL with the credentials of masters. */
  url: string
  /** The URL with the credentials of media nodes. */
  nodeUrl: string
  /** The URLs with the credentials of a cluster. */
  urlsOf(cluster: string): { natsUrl: string; nodeNatsUrl: string }
  readonly pid: number
  kill(signal?: NodeJS.Signals): void
  restart(): Promise<void>
}

interface OwnNatsOptions {
  cluster: string
  users: readonly ClusterUsers[]
  /** Additional lines of the configuration file. */
  config?: readonly string[] | undefined
  journal: Journal
}

/** A NATS server that the stack has started, and stops. */
export class OwnNats implements StackNats {
  readonly #options: OwnNatsOptions
  #server: LocalNats

  private constructor(options: OwnNatsOptions, server: LocalNats) {
    this.#options = options
    this.#server = server
  }

  static async start(options: OwnNatsOptions): Promise<OwnNats> {
    return new OwnNats(options, await startServer(options))
  }

  get url(): string {
    return this.urlsOf(this.#options.cluster).natsUrl
  }

  get nodeUrl(): string {
    return this.urlsOf(this.#options.cluster).nodeNatsUrl
  }

  get pid(): number {
    return this.#server.pid
  }

  urlsOf(cluster: string): { natsUrl: string; nodeNatsUrl: string } {
    const users = this.#options.users.find((each) => each.cluster === cluster)
    if (!users) throw new Error(`the bus server has no users for the cluster ${cluster}`)
    const { url } = this.#server
    return { natsUrl: natsUrlOf(url, users.master), nodeNatsUrl: natsUrlOf(url, users.node) }
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#server.process.kill(signal)
  }

  async restart(): Promise<void> {
    await this.stop()
    this.#server = await startServer(this.#options, this.#server.port)
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }
}

function startServer({ users, config, journal }: OwnNatsOptions, port?: number): Promise<LocalNats> {
  const onLine = journal.writer('nats')
  return startNats({ onLine, users, ...(port !== undefined && { port }), ...(config && { config }) })
}
