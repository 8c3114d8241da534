import {
  type Heartbeat,
  HEARTBEAT_INTERVAL_MS,
  NODE_SILENT_MS,
  nodeRpc,
  silentMsOf,
  SUBJECT,
} from '@session-service/contract'
import { Bus, HeartbeatWatch } from '@session-service/messaging'
import { metrics, sleep } from '@session-service/server-kit'
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { providersWith } from '../platform/discovery/providers-with.js'
import { PeriodicRead, type PeriodicReader } from '../platform/jobs/periodic-read.js'
import { inClusterTime } from './cluster-time.js'
import { isBackedOff } from './flapping.js'
import { isUp } from './media-node-status.js'
import { ALL_NODES, MediaNodeRepository, type MediaNodeRow } from './media-node.repository.js'
import { withLastHeartbeat, type LastHeartbeat, isForeign, isResting } from './node-state.js'
import type { NodeBoot } from './room-place.js'

/** Tolerated delay of a heartbeat, ms. */
const HEARTBEAT_DELAY_MS = 150
/** Heartbeats of an ended process arrive no longer than this after its end, ms. */
const LATE_HEARTBEAT_MS = 2 * NODE_SILENT_MS
/** A node counts as alive until so long before the end of its silent window, by the heartbeat that a master wrote, ms. */
const ALIVE_MARGIN_MS = 500

/** A heartbeat of a node that belongs to the cluster. */
type Member = Heartbeat & {
  /** It crashed repeatedly: sessions are placed on other nodes if possible. */
  isBackedOff?: boolean
}

export interface NodeHandler {
  onHeartbeat(node: Heartbeat): void
  /** Called for each silent node that no other master reports as alive, again until it resolves. */
  onLost(node: Heartbeat): Promise<void>
}

/** Marks a provider as a NodeHandler. */
export const NodeObserver = DiscoveryService.createDecorator()

/** The directory of media nodes, from heartbeats and rows. */
@PeriodicRead()
@Injectable()
export class MediaNodesService implements PeriodicReader, OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  readonly periodicRead = ALL_NODES
  readonly #heartbeats: HeartbeatWatch
  #handlers: readonly NodeHandler[] = []
  #known = new Map<string, MediaNodeRow>()
  /** Unknown nodes whose registration was deferred. */
  #deferred = new Set<string>()
  /** The start of the newest read, or the time of the newest write if that is later, by `performance.now()`. */
  #knownAt = -Infinity
  /** Processes that have ended, and when this master learned it, monotonic ms. */
  readonly #ended = new Map<string, number>()

  constructor(
    private readonly bus: Bus,
    private readonly repository: MediaNodeRepository,
    private readonly clock: ClusterClock,
    private readonly discovery: DiscoveryService,
  ) {
    this.#heartbeats = new HeartbeatWatch(bus, {
      adjust: (beat) => inClusterTime(beat, clock.now()),
      accepts: (node) => !this.#ended.has(node.bootId) && !isForeign(this.#known.get(node.nodeId), node),
      onBeat: (node) => this.#onBeat(node),
      onLost: (node) => (this.isAlive(node) ? false : this.#lost(node)),
    })
    metrics.sampled('media_nodes', 'Media nodes whose heartbeats this master receives', () => this.live().length)
    metrics.sampled(
      'media_nodes_backed_off',
      'Media nodes on which placement is backed off after repeated crashes',
      () => this.connected().filter((row) => isBackedOff(row.backOffUntil, clock.now())).length,
    )
  }

  onModuleInit(): void {
    this.#handlers = providersWith(this.discovery, NodeObserver)
  }

  /** A master serves after one heartbeat interval, when it has received heartbeats of all nodes. */
  async onApplicationBootstrap(): Promise<void> {
    await this.refresh()
    // One that rests sends heartbeats less often; an older one does not rest, and does not know the command.
    for (const { id } of this.connected()) {
      void this.bus.request(SUBJECT.nodeCommand(id, 'wake'), nodeRpc('wake'), {}).catch(() => undefined)
    }
    await sleep(HEARTBEAT_INTERVAL_MS + HEARTBEAT_DELAY_MS)
  }

  onApplicationShutdown(): Promise<void> {
    return this.#heartbeats.stop()
  }

  /** The last heartbeats of all nodes that are not lost, registered or not. */
  live(): Heartbeat[] {
    return this.#heartbeats.table.live()
  }

  /**
   * The live nodes that are registered or about to be. A node that the row lists as leaving is reported as draining
   * before its heartbeat is.
   */
  members(): Member[] {
    return this.live().flatMap((beat) => {
      const row = this.#known.get(beat.nodeId)
      if (!row) return beat.joins && !this.#deferred.has(beat.nodeId) ? [beat] : []
      if (!isConnected(row) || row.bootId !== beat.bootId) return []
      if (row.status !== 'running') return [{ ...beat, status: 'draining' as const }]
      return [isBackedOff(row.backOffUntil, this.clock.now()) ? { ...beat, isBackedOff: true } : beat]
    })
  }

  /** Excludes an unknown node from placement until it is registered. */
  defer(nodeId: string): void {
    this.#deferred.add(nodeId)
  }

  /** The registered nodes that are connected. */
  connected(): MediaNodeRow[] {
    return this.rows().filter(isConnected)
  }

  /** Whether any node may host sessions; a connected one also before this master has received a heartbeat of it. */
  hasNodes(): boolean {
    return this.members().length > 0 || this.connected().length > 0
  }

  /** The last heartbeat of the node; undefined once its loss was handled. */
  lastHeartbeat(nodeId: string): Heartbeat | undefined {
    return this.#heartbeats.table.get(nodeId)
  }

  /** Ignores the heartbeats of a process that has ended: the last ones may still arrive through other bus servers. */
  forget({ nodeId, bootId }: NodeBoot): void {
    const now = performance.now()
    for (const [boot, at] of this.#ended) if (now - at >= LATE_HEARTBEAT_MS) this.#ended.delete(boot)
    this.#ended.set(bootId, now)
    if (this.lastHeartbeat(nodeId)?.bootId === bootId) this.#heartbeats.table.forget(nodeId)
  }

  /** Applies a heartbeat of a process that was considered foreign with an outdated row. */
  accept(node: Heartbeat): void {
    this.#heartbeats.table.beat(node)
  }

  /** Whether all nodes have had no work for some time. */
  get areResting(): boolean {
    const live = this.live()
    // On a split bus other masters may receive the heartbeats of nodes that do not rest.
    const areAllResting = this.connected().every((row) => isResting({ everyMs: row.heartbeatInterval }))
    return live.length > 0 && live.every(isResting) && areAllResting
  }

  /** Whether this master receives heartbeats of this boot. */
  isAliveHere({ nodeId, bootId }: NodeBoot): boolean {
    return this.live().some((beat) => beat.nodeId === nodeId && beat.bootId === bootId)
  }

  /** Time of the last heartbeat, by `performance.now()`. */
  lastHeartbeatAt(nodeId: string): number {
    return this.#heartbeats.table.lastHeartbeatAt(nodeId)
  }

  isKnown(nodeId: string): boolean {
    return this.#statusOf(nodeId) !== undefined
  }

  /** Why no session may be forced onto this node; undefined when one may. */
  refusalOf(nodeId: string): string | undefined {
    const status = this.#statusOf(nodeId)
    if (status === undefined) return `no media node with the id ${nodeId}`
    return status === 'running' ? undefined : `media node ${nodeId} is ${status}: it takes no new sessions`
  }

  /** By its row, and by its heartbeats where there is none or it says `running`. */
  #statusOf(nodeId: string): string | undefined {
    const written = this.row(nodeId)?.status
    if (written !== undefined && written !== 'running') return written
    const beat = this.members().find((node) => node.nodeId === nodeId)
    return beat?.status ?? (written && 'disconnected')
  }

  /** The row, at most a second old; two seconds while all nodes rest. */
  row(nodeId: string): MediaNodeRow | undefined {
    return this.#known.get(nodeId)
  }

  rows(): MediaNodeRow[] {
    return [...this.#known.values()]
  }

  /** Ids of lost nodes. */
  disconnected(): string[] {
    return this.rows()
      .filter((row) => isUp(row.status) && row.disconnectedAt !== null)
      .map(({ id }) => id)
  }

  /** Reads all rows now. */
  async refresh(): Promise<void> {
    const askedAt = performance.now()
    this.receive(await this.repository.all(), askedAt)
  }

  /** The result of a read that a newer read or write overtook is discarded. */
  receive(rows: readonly object[], askedAt: number): void {
    if (askedAt >= this.#knownAt) {
      this.#knownAt = askedAt
      const last = new Map(this.lastHeartbeats().map((node) => [node.nodeId, node]))
      this.#known = new Map((rows as MediaNodeRow[]).map((row) => [row.id, withLastHeartbeat(row, last.get(row.id))]))
    }
    const live = new Set(this.live().map(({ nodeId }) => nodeId))
    this.#deferred = new Set([...this.#deferred].filter((nodeId) => live.has(nodeId) && !this.#known.has(nodeId)))
  }

  /** Stores a row that this master has just read or written. */
  update(row: MediaNodeRow): void {
    this.#knownAt = performance.now()
    this.#known.set(row.id, row)
  }

  /**
   * The nodes whose heartbeats this master receives, with the times of the last ones, UTC ms. Without those that have been
   * silent for long: while this master is cut off from the bus they are not lost, and other masters know later times.
   */
  lastHeartbeats(): LastHeartbeat[] {
    const [now, since] = [this.clock.now(), performance.now()]
    return this.live().flatMap(({ nodeId, bootId, everyMs }) => {
      const silentMs = since - this.lastHeartbeatAt(nodeId)
      return silentMs < silentMsOf(everyMs) ? [{ nodeId, bootId, everyMs, at: Math.round(now - silentMs) }] : []
    })
  }

  /** Whether any master receives heartbeats of this boot, by the times written in the row. */
  isAlive({ nodeId, bootId }: NodeBoot, row = this.#known.get(nodeId)): boolean {
    if (row?.bootId !== bootId || !isConnected(row)) return false
    return Math.abs(this.clock.now() - row.lastHeartbeatAt) < silentMsOf(row.heartbeatInterval) - ALIVE_MARGIN_MS
  }

  /** Registered nodes that any master reports as alive. */
  get aliveAnywhere(): MediaNodeRow[] {
    return this.rows().filter((row) => this.isAlive({ nodeId: row.id, bootId: row.bootId ?? '' }))
  }

  /** Registered nodes whose heartbeats this master receives. */
  get aliveHere(): MediaNodeRow[] {
    const live = new Set(this.live().map(({ nodeId }) => nodeId))
    return this.aliveAnywhere.filter(({ id }) => live.has(id))
  }

  #onBeat(node: Heartbeat): void {
    const endedAt = this.#ended.get(node.bootId)
    if (endedAt !== undefined && performance.now() - endedAt < LATE_HEARTBEAT_MS) return
    this.#ended.delete(node.bootId)
    for (const handler of this.#handlers) handler.onHeartbeat(node)
  }

  async #lost(node: Heartbeat): Promise<void> {
    for (const handler of this.#handlers) await handler.onLost(node)
  }
}

export const isConnected = (row: MediaNodeRow): boolean =>
  isUp(row.status) && row.bootId !== null && row.disconnectedAt === null
