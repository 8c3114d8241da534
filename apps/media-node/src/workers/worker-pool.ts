import { Logger } from '@nestjs/common'
import { ServiceError } from '@session-service/contract'
import { messageOf, metrics, withTimeout } from '@session-service/server-kit'
import { createWorker, setLogEventListeners, version, workerBin, type types } from 'mediasoup'
import { recentDeaths, respawnDelay } from './respawn-delay.js'
import { CRASH_LOOP, CrashLoop, type CrashLoopTiming } from './crash-loop.js'
import { leastLoaded } from './least-loaded.js'
import { udpAt } from './listen-info.js'
import { PoolWorker } from './pool-worker.js'
import { Watchdog, type WatchdogTiming } from './watchdog.js'

export interface WorkerPoolOptions {
  /** The number of workers. */
  size: number
  listenIp: string
  /** The address in ICE candidates of new transports, when it is not `listenIp`. */
  announcedAddress?: () => string | undefined
  /** The UDP and TCP port of the first worker; the others use the next ports. 0: any free ports. */
  firstPort: number
  watchdog?: WatchdogTiming
  crashLoop?: CrashLoopTiming
}

/** The version of mediasoup and the path of its worker binary. */
export const MEDIASOUP = { version, workerBin } as const

const START_TIMEOUT_MS = 10_000

/** Keeps the configured number of mediasoup workers alive and reports deaths. No other file imports mediasoup's code. */
export class WorkerPool {
  readonly #logger = new Logger(WorkerPool.name)
  readonly #alive = new Set<PoolWorker>()
  readonly #watchdogs = new Map<PoolWorker, Watchdog>()
  readonly #deaths = new Map<number, number[]>()
  readonly #deathCount = metrics.counter('media_worker_deaths_total', { help: 'Deaths of media workers' })
  readonly #deathListeners = new Set<(worker: PoolWorker) => void>()
  readonly #crashLoop: CrashLoop
  readonly #respawns = new Set<NodeJS.Timeout>()
  readonly #starting = new Set<Promise<unknown>>()
  #firstPort = 0
  #closing = false

  constructor(private readonly options: WorkerPoolOptions) {
    this.#crashLoop = new CrashLoop(options.crashLoop ?? CRASH_LOOP)
    const logger = new Logger('mediasoup')
    setLogEventListeners({
      onwarn: (namespace, text) => logger.debug(`${namespace} ${text}`),
      // The pool itself logs failed starts and deaths, and exiting workers report closed pipes. A rejected request is
      // answered to its caller, which may be any client: a line for each would let clients fill the log.
      onerror: (namespace, text, error) =>
        this.#closing || text.startsWith('worker process') || isRefusedRequest(text) || isClampedEstimate(text)
          ? logger.debug(`${namespace} ${text}`)
          : logger.warn({ namespace, err: error }, text),
    })
  }

  /** Calls `listener` for each worker that has died, after it has left the pool. Returns a function that unsubscribes. */
  onDeath(listener: (worker: PoolWorker) => void): () => void {
    this.#deathListeners.add(listener)
    return () => this.#deathListeners.delete(listener)
  }

  /** Rejects when a worker cannot be started: a retry would not help. */
  async start(): Promise<void> {
    const indexes = Array.from({ length: this.options.size }, (_, index) => index)
    const started = await Promise.allSettled(indexes.map((index) => this.#spawn(index)))
    const failed = started.find((result) => result.status === 'rejected')
    this.#firstPort = [...this.#alive].find(({ index }) => index === 0)?.port ?? 0
    if (!failed) return
    await this.close()
    throw failed.reason
  }

  get workers(): ReadonlySet<PoolWorker> {
    return this.#alive
  }

  /** The number of workers that accept rooms: 0 during a crash loop, since new rooms would be lost with their workers. */
  get usable(): number {
    return this.#crashLoop.isLooping ? 0 : this.#alive.size
  }

  /** The media port of the first worker at the start of the pool. */
  get firstPort(): number {
    return this.#firstPort
  }

  get memoryBytes(): number {
    return [...this.#alive].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  }

  /** The worker for the next room. */
  pick(): PoolWorker {
    if (this.#crashLoop.isLooping) throw new ServiceError('NO_CAPACITY', 'the media workers are in a crash loop')
    const worker = leastLoaded(this.#alive)
    if (!worker) throw new ServiceError('NO_CAPACITY', 'no media worker is alive')
    return worker
  }

  /** Reads the memory of the workers, and kills those that do not answer within a few seconds. */
  probe(): void {
    for (const watchdog of this.#watchdogs.values()) watchdog.probe()
  }

  /** Closes all workers and waits until their processes have exited. */
  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#respawns) clearTimeout(timer)
    for (const watchdog of this.#watchdogs.values()) watchdog.stop()
    await Promise.allSettled(this.#starting)
    await Promise.all([...this.#alive].map((worker) => worker.end()))
    this.#alive.clear()
  }

  #spawn(index: number): Promise<void> {
    const spawning = this.#startWorker(index).finally(() => this.#starting.delete(spawning))
    this.#starting.add(spawning)
    return spawning
  }

  async #startWorker(index: number): Promise<void> {
    const worker = await this.#create(index)
    if (this.#closing) return worker.end()
    worker.worker.once('died', (error) => this.#onDied(worker, error))
    this.#alive.add(worker)
    this.#watchdogs.set(worker, this.#watch(worker))
  }

  #watch(worker: PoolWorker): Watchdog {
    const onFrozen = (): void => {
      this.#logger.error(
        { worker: worker.index, workerPid: worker.worker.pid },
        'a media worker does not answer: killing it',
      )
      worker.kill()
    }
    return new Watchdog(() => worker.probe(), onFrozen, this.options.watchdog)
  }

  async #create(index: number): Promise<PoolWorker> {
    const worker = await this.#createWorker(index)
    try {
      const webRtcServer = await worker.createWebRtcServer({ listenInfos: this.#listenInfos(index) })
      const { udpSockets } = await webRtcServer.dump()
      const { announcedAddress } = this.options
      const created = new PoolWorker(index, worker, webRtcServer, udpSockets[0]?.port ?? 0, announcedAddress)
      await created.probe()
      return created
    } catch (error) {
      worker.close()
      throw new Error(`media worker ${index} cannot listen for media: ${messageOf(error)}`, { cause: error })
    }
  }

  async #createWorker(index: number): Promise<types.Worker> {
    const before = signalListeners()
    const creating = createWorker({ logLevel: 'warn' })
    // mediasoup would close its workers at the first signal, during the graceful shutdown.
    removeNewSignalListeners(before)
    try {
      return await withTimeout(creating, START_TIMEOUT_MS, 'the start')
    } catch (error) {
      creating.then(
        (late) => late.close(),
        () => undefined,
      )
      throw new Error(`media worker ${index} does not start: ${messageOf(error)}`, { cause: error })
    }
  }

  #listenInfos(index: number): types.TransportListenInfo[] {
    const { listenIp, firstPort } = this.options
    const port = firstPort > 0 ? firstPort + index : undefined
    return [udpAt(listenIp, port), { protocol: 'tcp', ip: listenIp, ...(port !== undefined && { port }) }]
  }

  #onDied(worker: PoolWorker, error: Error): void {
    this.#alive.delete(worker)
    this.#watchdogs.get(worker)?.stop()
    this.#watchdogs.delete(worker)
    if (this.#closing) return
    this.#logDeath(worker.index, error)
    this.#deathCount.inc({})
    for (const listener of this.#deathListeners) listener(worker)
    this.#respawnLater(worker.index)
  }

  /** One line for a crash loop, not one for each death. */
  #logDeath(index: number, error: Error): void {
    const wasLooping = this.#crashLoop.isLooping
    const loopStarts = this.#crashLoop.died()
    if (wasLooping) this.#logger.debug({ worker: index, err: error }, 'a media worker died again')
    else this.#logger.error({ worker: index, err: error }, 'a media worker died')
    if (loopStarts)
      this.#logger.error('the media workers are in a crash loop: this node accepts no rooms until they are stable')
  }

  #respawnLater(index: number): void {
    const now = performance.now()
    const deaths = [...recentDeaths(this.#deaths.get(index) ?? [], now), now]
    this.#deaths.set(index, deaths)
    const timer = setTimeout(() => {
      this.#respawns.delete(timer)
      this.#spawn(index).catch((error: unknown) => {
        this.#logger.error({ worker: index, err: error }, 'restarting a media worker failed, will retry')
        if (!this.#closing) this.#respawnLater(index)
      })
    }, respawnDelay(deaths))
    this.#respawns.add(timer)
  }
}

/** Whether the line of a worker reports a rejected request. */
const isRefusedRequest = (text: string): boolean => /\| throwing MediaSoup(Type)?Error: /.test(text)

/** The floor of the bandwidth estimate is above its maximum while a receiver of a camera starts. */
const isClampedEstimate = (text: string): boolean => text.includes('::ClampConstraints()')

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const signalListeners = () => new Map(SIGNALS.map((signal) => [signal, new Set(process.listeners(signal))]))

function removeNewSignalListeners(before: ReturnType<typeof signalListeners>): void {
  for (const signal of SIGNALS) {
    for (const listener of process.listeners(signal)) {
      if (!before.get(signal)?.has(listener)) process.off(signal, listener)
    }
  }
}
