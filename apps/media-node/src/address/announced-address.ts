import { Logger } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { backoffMs, markHandled, metrics, sleep } from '@session-service/server-kit'
import { initialState, readAddressFile, type AddressSource, type Interfaces } from './address-sources.js'
import { chooseAddress, reasonsOf, type SourceState } from './sources.js'
import { askStunServer } from './stun-client.js'

const FILE_INTERVAL_MS = 1_000
/** The public address of a machine behind NAT may change while the node runs. */
const STUN_INTERVAL_MS = 60_000
const STUN_BACKOFF = { firstMs: 1_000, longestMs: 30_000 }
/** While no address is known, the reasons are logged this often. */
const REMINDER_MS = 30_000

/** The address to which clients send media. It may be unknown at the start, and change while the node runs. */
export class AnnouncedAddress {
  readonly #logger = new Logger(AnnouncedAddress.name)
  readonly #states: Map<AddressSource, SourceState>
  readonly #ending = new AbortController()
  readonly #known = Promise.withResolvers<void>()
  /** Sources that had an address and give none now. */
  readonly #silent = new Set<AddressSource>()
  #current: string | undefined
  #isWaiting = true
  /** The reasons in the last log line. */
  #explained = ''
  #reminder: NodeJS.Timeout | undefined

  constructor(
    private readonly config: NodeConfig,
    interfaces: Interfaces,
  ) {
    this.#states = new Map(
      config.MEDIA_NODE_ADDRESS_SOURCES.map((source) => [source, initialState(source, config, interfaces)]),
    )
    markHandled(this.#known.promise)
    this.#choose()
    metrics.sampled('announced_address_known', '0 while no source gives the address to which clients send media', () =>
      Number(this.#current !== undefined),
    )
  }

  /** Undefined until the first address is known; afterwards the last one that a source gave. */
  get current(): string | undefined {
    return this.#current
  }

  /** Resolves with the first address; rejects when `stop` is called before. */
  get known(): Promise<void> {
    return this.#known.promise
  }

  /** Reads the sources that change, until `stop`. */
  start(): void {
    if (this.#states.get('file')?.kind === 'pending')
      void this.#watchFile(this.config.MEDIA_NODE_ANNOUNCED_ADDRESS_FILE)
    if (this.#states.get('stun')?.kind === 'pending') void this.#watchStun(this.config.MEDIA_NODE_STUN_SERVER)
    void this.#awaitSources()
  }

  stop(): void {
    this.#ending.abort()
    clearInterval(this.#reminder)
    this.#known.reject(new Error('the media node ends before its announced address is known'))
  }

  async #awaitSources(): Promise<void> {
    if (this.#current === undefined) await sleep(this.config.MEDIA_NODE_ADDRESS_WAIT * 1_000, this.#ending.signal)
    if (this.#ending.signal.aborted) return
    this.#isWaiting = false
    this.#choose()
    if (this.#current === undefined) this.#reminder = setInterval(() => this.#explain(), REMINDER_MS)
  }

  #explain(): void {
    this.#explained = reasonsOf([...this.#states])
    this.#logger.warn(
      `no source gives an address to announce to clients, so this node is not ready: ${this.#explained}`,
    )
  }

  async #watchFile(path: string): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      this.#update('file', await readAddressFile(path))
      await sleep(FILE_INTERVAL_MS, signal)
    }
  }

  async #watchStun(server: string): Promise<void> {
    const { signal } = this.#ending
    let failures = 0
    while (!signal.aborted) {
      if (!this.#isDecidedBefore('stun')) {
        const state = await this.#askStun(server)
        failures = state.kind === 'address' ? 0 : failures + 1
        this.#update('stun', state)
      }
      await sleep(failures === 0 ? STUN_INTERVAL_MS : backoffMs(failures, STUN_BACKOFF), signal)
    }
  }

  #askStun(server: string): Promise<SourceState> {
    return askStunServer({ server, from: this.config.MEDIA_NODE_IP }).then(
      (address) => ({ kind: 'address', address }),
      (error: Error) => ({ kind: 'pending', reason: error.message }),
    )
  }

  /** Whether an earlier source has an address: this one is not needed. */
  #isDecidedBefore(source: AddressSource): boolean {
    const names = [...this.#states.keys()]
    return names.slice(0, names.indexOf(source)).some((name) => this.#states.get(name)?.kind === 'address')
  }

  /** A source that has given an address keeps it until it gives another one: clients still reach the node there. */
  #update(source: AddressSource, state: SourceState): void {
    const before = this.#states.get(source)
    if (before?.kind === 'address' && state.kind !== 'address') return this.#keep(source, before.address, state)
    this.#silent.delete(source)
    this.#states.set(source, state)
    this.#choose()
  }

  #keep(source: AddressSource, address: string, state: SourceState): void {
    if (this.#silent.has(source)) return
    this.#silent.add(source)
    this.#logger.warn(
      `a source gives no address any more, its last one, ${address}, stays: ${reasonsOf([[source, state]])}`,
    )
  }

  #choose(): void {
    const chosen = chooseAddress([...this.#states], this.#isWaiting)
    if (chosen === undefined) {
      if (!this.#isWaiting && this.#explained !== reasonsOf([...this.#states])) this.#explain()
      return
    }
    if (chosen === this.#current) return
    if (this.#current !== undefined) {
      this.#logger.log(`the announced address changes from ${this.#current} to ${chosen}: new transports use it`)
    }
    this.#current = chosen
    clearInterval(this.#reminder)
    this.#known.resolve()
  }
}
