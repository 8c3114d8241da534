import { DisconnectAdvisory, type Heartbeat, type OpsAddress, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { metrics, sleep } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { isConnected, MediaNodesService, type NodeHandler, NodeObserver } from '../media-nodes/media-nodes.service.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { decideProcessEnd } from './process-end.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { probeProcess } from './process-probe.js'

/** A port that this master reached is checked again after this long, ms: a firewall may refuse connections meanwhile. */
const CHECK_AGAIN_MS = 60_000
const RETRY_MS = 10_000
/** The kernel closes the sockets of a killed process one after another. A live process reconnects meanwhile. */
const PAUSES_MS = [0, 10, 20, 50, 100, 200, 400, 800]
/** No further attempt starts after this: the silent window decides. */
const GIVE_UP_MS = 2_000

interface Listener {
  address: OpsAddress
  /** The process has answered this master at the address. Only then a refused connection proves its end. */
  isReached: boolean
  nextCheckAt: number
}

/**
 * Declares a media node lost as soon as its process has ended. The bus server reports the end of its connection, which
 * alone proves nothing: the process may have lost the network, or the bus may restart. Every master does so, and the lock
 * of the row lets one of them record the loss.
 */
@Injectable()
@NodeObserver()
export class ProcessEndDetector implements OnModuleInit, OnModuleDestroy, NodeHandler {
  readonly #logger = new Logger(ProcessEndDetector.name)
  readonly #listeners = new Map<string, Listener>()
  /** Boots whose end is examined. */
  readonly #examined = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #subscription: BusSubscription | undefined

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    private readonly failures: NodeFailureHandler,
    private readonly claims: NodeIdClaims,
  ) {
    metrics.sampled(
      'media_nodes_reached',
      'Media nodes whose port for probes answers this master, so that the end of their process is noticed at once',
      () => this.mediaNodes.live().filter(({ bootId }) => this.#listeners.get(bootId)?.isReached).length,
    )
  }

  onModuleInit(): void {
    this.#subscription = this.bus.subscribe(SUBJECT.disconnected, DisconnectAdvisory, ({ client, reason }) =>
      this.#onDisconnect(client.name, reason),
    )
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping.abort()
    await this.#subscription?.stop()
    await Promise.all(this.#examined.values())
  }

  onHeartbeat({ bootId, ops }: Heartbeat): void {
    const now = performance.now()
    const known = this.#listeners.get(bootId)
    const isSame = known?.address.host === ops?.host && known?.address.port === ops?.port
    if (!ops || (known && isSame && now < known.nextCheckAt)) return
    this.#forgetOld(now)
    const listener = { address: ops, isReached: isSame && (known?.isReached ?? false), nextCheckAt: now + RETRY_MS }
    this.#listeners.set(bootId, listener)
    void this.#check(bootId, listener)
  }

  onLost({ bootId }: Heartbeat): Promise<void> {
    this.#listeners.delete(bootId)
    return Promise.resolve()
  }

  async #check(bootId: string, listener: Listener): Promise<void> {
    listener.isReached = (await probeProcess(listener.address, bootId)) === 'running'
    if (listener.isReached) listener.nextCheckAt = performance.now() + CHECK_AGAIN_MS
  }

  #forgetOld(now: number): void {
    for (const [bootId, { nextCheckAt }] of this.#listeners)
      if (now - nextCheckAt >= CHECK_AGAIN_MS) this.#listeners.delete(bootId)
  }

  #onDisconnect(clientName: string, reason: string): void {
    const [nodeId = '', bootId = ''] = clientName.split('/')
    const row = this.mediaNodes.row(nodeId)
    const listener = this.#listeners.get(bootId)
    if (!row || row.bootId !== bootId || !isConnected(row)) return
    if (!listener?.isReached || this.#examined.has(bootId)) return
    const work = this.#examine({ nodeId, bootId }, listener.address, reason)
      .catch((error: unknown) =>
        this.#logger.warn({ err: error, mediaNodeId: nodeId }, 'examining the media node failed'),
      )
      .finally(() => this.#examined.delete(bootId))
    this.#examined.set(bootId, work)
  }

  async #examine(boot: NodeBoot, address: OpsAddress, reason: string): Promise<void> {
    const startedAt = performance.now()
    for (const pauseMs of PAUSES_MS) {
      await sleep(pauseMs, this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      if (performance.now() - startedAt > GIVE_UP_MS) break
      const [holder, process] = await Promise.all([this.claims.probe(boot), probeProcess(address, boot.bootId)])
      const decision = decideProcessEnd({ holder, process })
      if (decision === 'ended') return this.failures.handleEnded(boot)
      if (decision === 'alive') break
    }
    this.#logger.log(
      { mediaNodeId: boot.nodeId, reason },
      'the media node has lost its connection to the bus, and nothing proves its end',
    )
  }
}
