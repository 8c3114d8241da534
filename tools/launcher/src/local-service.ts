import {
  type AppOptions,
  type AppProcess,
  type ClusterUsers,
  makeOwnedFolder,
  natsUrlOf,
  executableFor,
  startMaster,
  startMediaNode,
  startNats,
  startPlayground,
  startPostgres,
} from '@session-service/local-stack'
import { join, relative } from 'node:path'
import { type RunAs, withAccount } from './run-as.js'
import type { ConsoleLog } from './console-log.js'
import { type Env, type Facts, givenEnv, masterEnv, nodeEnv, playgroundEnv } from './environments.js'
import { busCluster, busUsers, nodeName } from './kept.js'
import type { Ports } from './ports.js'
import type { SpeechFiles } from './speech.js'
import { type Child, Supervised } from './supervised.js'

const STOP_TIMEOUT_MS = 8_000

interface LocalServiceOptions {
  env: NodeJS.ProcessEnv
  dataFolder: string
  secret: string
  ports: Ports
  nodes: number
  /** Account of NATS, master, media nodes and playground. */
  runAs: RunAs
  speech: SpeechFiles | undefined
  log: ConsoleLog
}

type BusAddresses = Pick<Facts, 'natsUrl' | 'nodeNatsUrl'>

/** Addresses of an external bus; media nodes have separate credentials if MEDIA_NODE_NATS_URL is set. */
const externalBus = ({ NATS_URL: natsUrl = '', MEDIA_NODE_NATS_URL: nodeNatsUrl = natsUrl }: Env): BusAddresses => ({
  natsUrl,
  nodeNatsUrl,
})

/** Starts and supervises all processes of the service on this machine. */
export class LocalService {
  readonly #options: LocalServiceOptions
  /** In the order of dependencies. They stop in reverse, because a media node deregisters at a master. */
  readonly #groups: Supervised[][] = []
  #stopping = false

  constructor(options: LocalServiceOptions) {
    this.#options = options
  }

  /** Resolves when all processes are ready; rejects with the error of a process that did not start. */
  async start(): Promise<void> {
    const { dataFolder, ports, secret, nodes, runAs, speech } = this.#options
    const given = withAccount(givenEnv(this.#options.env), runAs)
    // An earlier launcher may have run as another account.
    for (const name of ['recordings', 'media-nodes']) makeOwnedFolder(join(dataFolder, name), runAs.account)
    const cluster = busCluster(given, dataFolder)
    const infrastructure = { databaseUrl: given.DATABASE_URL ?? '', ...externalBus(given) }
    await this.#launch([
      ...(infrastructure.databaseUrl === '' ? [this.#postgres((url) => (infrastructure.databaseUrl = url))] : []),
      ...(infrastructure.natsUrl === '' ? [this.#nats(busUsers(cluster, dataFolder), infrastructure)] : []),
    ])
    const names = { nodeName: nodeName(dataFolder), busCluster: cluster }
    const facts: Facts = { secret, ports, nodes, dataFolder, speech, ...names, ...infrastructure }
    const master = this.#app('master', startMaster, masterEnv(given, facts))
    const others = [
      ...Array.from({ length: nodes }, (_, index) =>
        this.#app(nodes === 1 ? 'media-node' : `media-node ${index + 1}`, startMediaNode, nodeEnv(given, facts, index)),
      ),
      ...(ports.playground === undefined
        ? []
        : [this.#app('playground', startPlayground, playgroundEnv(given, facts))]),
    ]
    await this.#launch([master], others)
  }

  /** Stops all processes gracefully, in order. */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const group of this.#groups.toReversed()) await Promise.all(group.map((part) => part.stop()))
  }

  /** Kills all processes. */
  kill(): void {
    this.#stopping = true
    for (const part of this.#groups.flat()) part.kill()
  }

  /** Starts all at the same time: each process waits for its dependencies itself. */
  async #launch(...groups: Supervised[][]): Promise<void> {
    this.#groups.push(...groups)
    // After a failure the others may still be starting; `stop` also stops these.
    await Promise.all(groups.flat().map((part) => part.start()))
    if (this.#stopping) throw new Error('stopped while starting')
  }

  #supervise(name: string, start: (signal: AbortSignal) => Promise<Child>): Supervised {
    return new Supervised({ name, start, warn: (text) => this.#options.log.line(name, 'warn', text) })
  }

  #postgres(onStart: (url: string) => void): Supervised {
    const { dataFolder, ports, log } = this.#options
    const wanted = join(dataFolder, 'postgres')
    return this.#supervise('postgres', async () => {
      const server = await startPostgres({ dataDir: wanted, port: ports.postgres, onLine: log.writer('postgres') })
      onStart(server.url)
      log.line('postgres', 'info', `ready at 127.0.0.1:${server.port}`)
      if (server.dataDir !== wanted)
        log.line(
          'postgres',
          'info',
          `its account cannot enter ${relative('.', dataFolder)}, so its data is in ${server.dataDir}`,
        )
      return server.process
    })
  }

  #nats(users: ClusterUsers, addresses: BusAddresses): Supervised {
    const { ports, log, dataFolder, runAs } = this.#options
    return this.#supervise('nats', async () => {
      const server = await startNats({
        port: ports.nats,
        dir: dataFolder,
        configFile: join(dataFolder, 'nats.conf'),
        users: [users],
        account: runAs.account,
        onLine: log.writer('nats'),
      })
      addresses.natsUrl = natsUrlOf(server.url, users.master)
      addresses.nodeNatsUrl = natsUrlOf(server.url, users.node)
      log.line('nats', 'info', `ready at 127.0.0.1:${server.port}`)
      return server.process
    })
  }

  #app(name: string, start: (options: AppOptions) => Promise<AppProcess>, env: Env): Supervised {
    const { log, runAs } = this.#options
    return this.#supervise(name, async (signal) => {
      const node = executableFor(runAs.account, process.execPath)
      const app = await start({ name, env, node, onLine: log.writer(name), stopTimeoutMs: STOP_TIMEOUT_MS })
      const stop = () => void app.stop()
      signal.addEventListener('abort', stop)
      try {
        await app.ready
      } catch (error) {
        await app.stop()
        throw error
      } finally {
        signal.removeEventListener('abort', stop)
      }
      return app
    })
  }
}
