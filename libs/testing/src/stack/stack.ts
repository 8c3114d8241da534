import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_BUS_CLUSTER } from '@session-service/contract'
import {
  type AppProcess,
  type ClusterUsers,
  freePorts,
  newClusterUsers,
  startMaster,
  startMediaNode,
  startPlayground,
} from '@session-service/local-stack'
import type { RestAnswer } from '@session-service/rest-client'
import { basicAuth, ServiceApi } from '../rest/service-api.js'
import { SignallingClient } from '@session-service/synthetic-participant'
import { Journal } from './journal.js'
import { createTestDatabase, type TestDatabase } from './test-database.js'
import { masterEnv, nodeEnv, playgroundEnv, recordingsFolder, type Env, type StackFacts } from './stack-env.js'
import { OwnNats, type StackNats } from './stack-nats.js'
import { stopAll } from './stop-all.js'

export interface StackOptions {
  /** The number of media nodes; default 1. */
  nodes?: number
  /** The number of masters; default 1. */
  masters?: number
  playground?: boolean
  /** The folder of the repository of the first masters and nodes; default: this one. */
  root?: string
  /** Properties of all processes; those of one kind have precedence. */
  env?: Env
  masterEnv?: Env
  nodeEnv?: Env
  /** Starts a separate Postgres server, which the test may kill. */
  ownPostgres?: boolean
  /** The bus server of another stack that has users for this cluster and outlives this stack. */
  nats?: StackNats
  /** Users of the bus server; default: those of the stack's own cluster. */
  busUsers?: readonly ClusterUsers[]
  /** Additional lines of the bus server's configuration file. */
  natsConfig?: readonly string[]
  /** Called before the start of each master and node. Returns its database and bus URLs and its own properties. */
  wire?: (actor: Actor, facts: StackFacts) => Promise<{ facts: StackFacts; env: Env }>
}

export interface Actor {
  kind: 'master' | 'node'
  /** Counts from 1. */
  number: number
}

/** The whole service on loopback addresses: real masters, media nodes, NATS and Postgres on free ports. */
export interface Stack {
  /** The URL of the first master. */
  masterUrl: string
  readonly masterUrls: readonly string[]
  playgroundUrl: string | undefined
  secret: string
  /** The Authorization header of REST calls. */
  authorization: string
  /** The REST client of the first master. */
  api: ServiceApi
  /** The REST client of the nth master, counted from 0. */
  apiOf(nth: number): ServiceApi
  /** Returns any answer of the first master. */
  rest(method: string, path: string, body?: unknown): Promise<RestAnswer>
  masters: AppProcess[]
  nodes: AppProcess[]
  /** The media node with this id. */
  node(id: string): AppProcess
  nats: StackNats
  postgres: TestDatabase
  /** The folder of all masters' recordings, deleted by `stop`. Recording needs SERVICE_RECORDING=true. */
  recordingsFolder: string
  /** The output of all processes, oldest first: `master1 {"level":…}`. */
  journal: Journal
  /** Resolves when the new process is ready. */
  addMaster(env?: Env, root?: string): Promise<AppProcess>
  addNode(env?: Env, root?: string): Promise<AppProcess>
  /** Replaces an exited process by a new one with the same environment and ports. */
  revive(process: AppProcess): Promise<AppProcess>
  /** Rewrites a token for the nth master, counted from 0 and modulo the number of masters. */
  atMaster: (nth: number, token: string | null) => string
  /** Opens a socket for a token without joining. */
  openSocket(token: string): Promise<SignallingClient>
  /** Creates a connection in the session and joins without media. */
  join(sessionId: string, body?: Parameters<ServiceApi['createConnection']>[1]): Promise<SignallingClient>
  /** Stops all processes; rejects when one did not shut down gracefully. */
  stop(): Promise<void>
}

/** Starts a stack and resolves when all processes are ready. Stops all started processes when it rejects. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const builder = new StackBuilder(options)
  try {
    return await builder.build()
  } catch (error) {
    await builder.stop().catch(() => {})
    throw error
  }
}

class StackBuilder {
  readonly #journal = new Journal()
  readonly #masters: AppProcess[] = []
  readonly #nodes: AppProcess[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'stack-'))
  readonly #secret = randomBytes(18).toString('base64url')
  #playground: AppProcess | undefined
  #database: TestDatabase | undefined
  readonly #cluster: string
  #nats: OwnNats | undefined
  #masterCount = 0
  #nodeCount = 0
  readonly #options: StackOptions

  constructor(options: StackOptions) {
    this.#options = options
    this.#cluster = options.env?.SERVICE_BUS_CLUSTER ?? DEFAULT_BUS_CLUSTER
  }

  async build(): Promise<Stack> {
    const { nodes = 1, masters = 1, ownPostgres = false, root } = this.#options
    const [database, nats] = await Promise.all([
      createTestDatabase({ ownServer: ownPostgres, isForMasters: root === undefined }),
      this.#options.nats ?? this.#startNats(),
    ])
    this.#database = database
    const facts: StackFacts = {
      secret: this.#secret,
      databaseUrl: database.url,
      ...nats.urlsOf(this.#cluster),
      folder: this.#folder,
    }
    const many = (count: number, add: () => Promise<AppProcess>) => Promise.all(Array.from({ length: count }, add))
    await Promise.all([
      many(masters, () => this.#addMaster(facts, {}, root)),
      many(nodes, () => this.#addNode(facts, {}, root)),
    ])
    return this.#stack(facts, database, nats)
  }

  async stop(): Promise<void> {
    const guests = [...this.#nodes, ...(this.#playground ? [this.#playground] : [])]
    await stopAll(
      [guests, this.#masters],
      [
        () => this.#nats?.stop(),
        () => this.#database?.drop(),
        async () => rmSync(this.#folder, { recursive: true, force: true }),
      ],
    )
  }

  async #stack(facts: StackFacts, database: TestDatabase, nats: StackNats): Promise<Stack> {
    const masters = this.#masters
    const [masterUrl = ''] = masters.map(urlOf)
    const api = new ServiceApi(masterUrl, this.#secret)
    if (this.#options.playground) this.#playground = await this.#startPlayground(masterUrl)
    return {
      masterUrl,
      get masterUrls() {
        return masters.map(urlOf)
      },
      playgroundUrl: this.#playground?.opsUrl,
      secret: this.#secret,
      authorization: basicAuth(this.#secret),
      api,
      apiOf: (nth) => new ServiceApi(masters.map(urlOf)[nth] ?? '', this.#secret),
      rest: (method, path, body) => api.request(method, path, body),
      masters,
      nodes: this.#nodes,
      node: (id) => this.#node(id),
      nats,
      postgres: database,
      recordingsFolder: recordingsFolder(facts.folder),
      journal: this.#journal,
      addMaster: (env, root) => this.#addMaster(facts, env, root),
      addNode: (env, root) => this.#addNode(facts, env, root),
      revive: (process) => this.#revive(process),
      atMaster: (nth, token) => {
        const { host } = new URL(masters.map(urlOf)[nth % masters.length] ?? masterUrl)
        return (token ?? '').replace(new URL(masterUrl).host, host)
      },
      openSocket: (token) => SignallingClient.open(token),
      join: (sessionId, body) => joinSession(api, sessionId, body),
      stop: () => this.stop(),
    }
  }

  async #startNats(): Promise<StackNats> {
    const { natsConfig: config, busUsers: users = [newClusterUsers(this.#cluster)] } = this.#options
    this.#nats = await OwnNats.start({ cluster: this.#cluster, users, config, journal: this.#journal })
    return this.#nats
  }

  async #addMaster(facts: StackFacts, env: Env = {}, root?: string): Promise<AppProcess> {
    const number = ++this.#masterCount
    const name = `master${number}`
    const ports = await freePorts(2)
    const wired = await this.#wire({ kind: 'master', number }, facts)
    const own = { ...wired.env, ...this.#options.env, ...this.#options.masterEnv, ...env }
    const started = await startMaster({
      env: { ...masterEnv(wired.facts, ports, own.SERVICE_HOST), ...own },
      name,
      onLine: this.#journal.writer(name),
      ...(root !== undefined && { root }),
    })
    this.#masters.push(started)
    await started.ready
    return started
  }

  async #addNode(facts: StackFacts, env: Env = {}, root?: string): Promise<AppProcess> {
    const number = ++this.#nodeCount
    const name = `node${number}`
    const [port = 0] = await freePorts(1)
    const wired = await this.#wire({ kind: 'node', number }, facts)
    const own = { ...wired.env, ...this.#options.env, ...this.#options.nodeEnv, ...env }
    const started = await startMediaNode({
      env: { ...nodeEnv(wired.facts, port, number), ...own },
      name,
      onLine: this.#journal.writer(name),
      ...(root !== undefined && { root }),
    })
    this.#nodes.push(started)
    await started.ready
    return started
  }

  #node(id: string): AppProcess {
    const node = this.#nodes.find(({ env }) => env.MEDIA_NODE_ID === id)
    if (!node) throw new Error(`the stack has no media node ${id}`)
    return node
  }

  async #wire(actor: Actor, facts: StackFacts): Promise<{ facts: StackFacts; env: Env }> {
    return (await this.#options.wire?.(actor, facts)) ?? { facts, env: {} }
  }

  async #startPlayground(masterUrl: string): Promise<AppProcess> {
    const [port = 0] = await freePorts(1)
    const env = { ...playgroundEnv(masterUrl, this.#secret, port), ...this.#options.env }
    const started = await startPlayground({ env, onLine: this.#journal.writer('playground') })
    await started.ready
    return started
  }

  async #revive(ended: AppProcess): Promise<AppProcess> {
    const list = [this.#masters, this.#nodes].find((processes) => processes.includes(ended))
    if (ended.killed) await ended.exited
    if (!list || ended.running)
      throw new Error(`${ended.name} cannot be revived: it ${list ? 'is running' : 'is not part of this stack'}`)
    const start = list === this.#masters ? startMaster : startMediaNode
    const { name, env, root } = ended
    const started = await start({ env, name, root, onLine: this.#journal.writer(name) })
    list[list.indexOf(ended)] = started
    await started.ready
    return started
  }
}

const urlOf = ({ env }: AppProcess): string => `http://${env.SERVICE_HOST}:${env.SERVICE_PORT}`

async function joinSession(
  api: ServiceApi,
  sessionId: string,
  body: Parameters<ServiceApi['createConnection']>[1] = {},
): Promise<SignallingClient> {
  const { token } = await api.createConnection(sessionId, body)
  if (token === null) throw new Error('the connection has no token')
  const client = await SignallingClient.open(token)
  await client.join()
  return client
}
