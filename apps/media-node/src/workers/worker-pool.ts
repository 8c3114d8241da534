import { Logger } from '@nestjs/common'
import { ServiceError } from '@session-service/contract'
import { createWorker, setLogEventListeners, version, workerBin, type types } from 'mediasoup'
import { recentDeaths, respawnDelay } from './respawn-delay.js'
import { CRASH_LOOP, CrashLoop, type CrashLoopTiming } from './crash-loop.js'
import { leastLoaded } from './least-loaded.js'
import { PoolWorker } from './pool-worker.js'
import { Watchdog, WATCHDOG_TIMING, type WatchdogTiming } from './watchdog.js'

export interface WorkerPoolOptions {
  /** How many workers. */
  size: number
  listenIp: string
  /** What participants are told to send to, when it is not `listenIp`. */
  announcedAddress?: string
  /** UDP and TCP port of the first worker, the others follow; 0 = free ones. */
  firstPort: number
  watchdog?: WatchdogTiming
  crashLoop?: CrashLoopTiming
}

/** Which library runs which program. */
export const MEDIASOUP = { version, workerBin } as const

const START_MS = 10_000

/** The only file that runs mediasoup: keeps the wanted number of workers alive and tells when one died. */
export class WorkerPool {
  readonly #logger = new Logger(WorkerPool.name)
  readonly #alive = new Set<PoolWorker>()
  readonly #watchdogs = new Map<PoolWorker, Watchdog>()
  readonly #deaths = new Map<number, number[]>()
  readonly #loop: CrashLoop
  readonly #respawns = new Set<NodeJS.Timeout>()
  readonly #starting = new Set<Promise<unknown>>()
  #firstPort = 0
  #closing = false
  /** Called once for every worker that died, after it has left the pool. */
  onDied: (worker: PoolWorker) => void = () => undefined

  constructor(private readonly options: WorkerPoolOptions) {
    this.#loop = new CrashLoop(options.crashLoop ?? CRASH_LOOP)
    const logger = new Logger('mediasoup')
    setLogEventListeners({
      onwarn: (namespace, text) => logger.debug(`${namespace} ${text}`),
      // The pool reports failed starts and deaths, and ending workers complain of closed pipes. A request that
      // the worker refuses is answered to its caller, who may be any client: a line each would let it fill the log.
      onerror: (namespace, text, error) =>
        this.#closing || text.startsWith('worker process') || isRefusedRequest(text)
          ? logger.debug(`${namespace} ${text}`)
          : logger.warn({ namespace, err: error }, text),
    })
  }

  /** Rejects when a worker can not be started at all: there is nothing to retry then. */
  async start(): Promise<void> {
    const slots = Array.from({ length: this.options.size }, (_, slot) => slot)
    const started = await Promise.allSettled(slots.map((slot) => this.#spawn(slot)))
    const failed = started.find((result) => result.status === 'rejected')
    this.#firstPort = [...this.#alive].find(({ slot }) => slot === 0)?.port ?? 0
    if (!failed) return
    await this.close()
    throw failed.reason
  }

  get workers(): ReadonlySet<PoolWorker> {
    return this.#alive
  }

  /** How many take rooms: none while they keep dying, for what is given to them dies with them. */
  get usable(): number {
    return this.#loop.isLooping ? 0 : this.#alive.size
  }

  /** At which the first worker took media when the pool started. */
  get firstPort(): number {
    return this.#firstPort
  }

  get memoryBytes(): number {
    return [...this.#alive].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  }

  /** The worker for the next room. */
  pick(): PoolWorker {
    if (this.#loop.isLooping) throw new ServiceError('NO_CAPACITY', 'the media workers keep dying')
    const worker = leastLoaded(this.#alive)
    if (!worker) throw new ServiceError('NO_CAPACITY', 'no media worker is alive')
    return worker
  }

  /** Ends all workers and waits until their processes are gone. */
  async close(): Promise<void> {
    this.#closing = true
    for (const timer of this.#respawns) clearTimeout(timer)
    for (const watchdog of this.#watchdogs.values()) watchdog.stop()
    await Promise.allSettled(this.#starting)
    await Promise.all([...this.#alive].map((worker) => worker.end()))
    this.#alive.clear()
  }

  #spawn(slot: number): Promise<void> {
    const spawning = this.#bringUp(slot).finally(() => this.#starting.delete(spawning))
    this.#starting.add(spawning)
    return spawning
  }

  async #bringUp(slot: number): Promise<void> {
    const worker = await this.#create(slot)
    if (this.#closing) return worker.end()
    worker.worker.once('died', (error) => this.#died(worker, error))
    this.#alive.add(worker)
    this.#watchdogs.set(worker, this.#watch(worker))
  }

  #watch(worker: PoolWorker): Watchdog {
    const frozen = (): void => {
      this.#logger.error({ slot: worker.slot, pid: worker.worker.pid }, 'a media worker does not answer and is killed')
      worker.kill()
    }
    return new Watchdog(() => worker.look(), frozen, this.options.watchdog ?? WATCHDOG_TIMING)
  }

  async #create(slot: number): Promise<PoolWorker> {
    const worker = await this.#createWorker(slot)
    try {
      const webRtcServer = await worker.createWebRtcServer({ listenInfos: this.#listenInfos(slot) })
      const { udpSockets } = await webRtcServer.dump()
      const created = new PoolWorker(slot, worker, webRtcServer, udpSockets[0]?.port ?? 0)
      await created.look()
      return created
    } catch (error) {
      worker.close()
      throw new Error(`media worker ${slot} can not listen for media: ${(error as Error).message}`, { cause: error })
    }
  }

  async #createWorker(slot: number): Promise<types.Worker> {
    const before = signalListeners()
    const creating = createWorker({ logLevel: 'warn' })
    // mediasoup would end its workers at the first signal, in the midst of our own orderly end.
    forgetSignalListeners(before)
    try {
      return await within(START_MS, creating)
    } catch (error) {
      creating.then(
        (late) => late.close(),
        () => undefined,
      )
      throw new Error(`media worker ${slot} does not start: ${(error as Error).message}`, { cause: error })
    }
  }

  #listenInfos(slot: number): types.TransportListenInfo[] {
    const { listenIp, announcedAddress, firstPort } = this.options
    const address = {
      ip: listenIp,
      ...(announcedAddress && announcedAddress !== listenIp && { announcedAddress }),
      ...(firstPort > 0 && { port: firstPort + slot }),
    }
    return [
      { protocol: 'udp', ...address },
      { protocol: 'tcp', ...address },
    ]
  }

  #died(worker: PoolWorker, error: Error): void {
    this.#alive.delete(worker)
    this.#watchdogs.get(worker)?.stop()
    this.#watchdogs.delete(worker)
    if (this.#closing) return
    this.#tellOfDeath(worker.slot, error)
    this.onDied(worker)
    this.#respawnLater(worker.slot)
  }

  /** A loop is worth one line, not one for each round. */
  #tellOfDeath(slot: number, error: Error): void {
    const wasLooping = this.#loop.isLooping
    const begins = this.#loop.died()
    if (wasLooping) this.#logger.debug({ slot, err: error }, 'a media worker died again')
    else this.#logger.error({ slot, err: error }, 'a media worker died')
    if (begins) this.#logger.error('the media workers keep dying: this node takes no rooms until they live longer')
  }

  #respawnLater(slot: number): void {
    const now = performance.now()
    const deaths = [...recentDeaths(this.#deaths.get(slot) ?? [], now), now]
    this.#deaths.set(slot, deaths)
    const timer = setTimeout(() => {
      this.#respawns.delete(timer)
      this.#spawn(slot).catch((error: unknown) => {
        this.#logger.error({ slot, err: error }, 'a media worker could not be started again')
        if (!this.#closing) this.#respawnLater(slot)
      })
    }, respawnDelay(deaths))
    this.#respawns.add(timer)
  }
}

function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no sign of life in ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** A line in which a worker says that it refuses a request. */
export const isRefusedRequest = (text: string): boolean => /\| throwing MediaSoup(Type)?Error: /.test(text)

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

const signalListeners = () => new Map(SIGNALS.map((signal) => [signal, new Set(process.listeners(signal))]))

function forgetSignalListeners(before: ReturnType<typeof signalListeners>): void {
  for (const signal of SIGNALS) {
    for (const listener of process.listeners(signal)) {
      if (!before.get(signal)?.has(listener)) process.off(signal, listener)
    }
  }
}
