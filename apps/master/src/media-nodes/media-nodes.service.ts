import { setTimeout } from 'node:timers/promises'
import {
  type Heartbeat,
  HEARTBEAT_INTERVAL_MS,
  type NodeCommand,
  type NodeCommandParams,
  type NodeCommandResult,
  NODE_SILENT_MS,
  nodeRpc,
  SUBJECT,
} from '@session-service/contract'
import { Bus, HeartbeatWatch } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryService } from '@nestjs/core'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { providersWith } from '../platform/discovery.js'
import { inClusterTime } from './cluster-time.js'
import { isBackedOff } from './flapping.js'
import { isUp } from './media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow } from './media-node.repository.js'
import { isForeign } from './node-state.js'
import type { NodeBoot } from './room-place.js'

/** How much later than its time a heartbeat may come, ms. */
const HEARTBEAT_DELAY_MS = 150
/** What other masters changed is seen after at most this long, and what was heard is written down as often, ms. */
const REFRESH_MS = 1_000
/** What was written down so lately is not written again, ms. */
const LATELY_MS = 500
/** Whoever hears a node has written that down less than this long ago, unless it is held up, ms. */
const HEARD_MS = NODE_SILENT_MS - 500

/** A heartbeat of a node that belongs to the cluster. */
export type Member = Heartbeat & {
  /** It crashed repeatedly: sessions go elsewhere if they can. */
  isBackedOff?: boolean
}

export interface NodeHandler {
  heard(node: Heartbeat): void
  /** Called for each node that has fallen silent and that no master hears, by every one that heard it, until it resolves. */
  lost(node: Heartbeat): Promise<void>
}

/** Marks a provider as a NodeHandler. */
export const NodeObserver = DiscoveryService.createDecorator()

/** The media nodes as their heartbeats tell of them and as the cluster has them, and how commands reach them. */
@Injectable()
export class MediaNodesService implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MediaNodesService.name)
  private readonly heartbeats: HeartbeatWatch
  private handlers: readonly NodeHandler[] = []
  private known = new Map<string, MediaNodeRow>()
  /** Nodes that have to wait for their registration. */
  private deferred = new Set<string>()
  private timer: NodeJS.Timeout | undefined
  private reads = 0

  constructor(
    private readonly bus: Bus,
    private readonly repository: MediaNodeRepository,
    private readonly clock: ClusterClock,
    private readonly discovery: DiscoveryService,
  ) {
    this.heartbeats = new HeartbeatWatch(bus, {
      adjust: (beat) => inClusterTime(beat, clock.now()),
      accepts: (node) => !isForeign(this.known.get(node.nodeId), node),
      onBeat: (node) => this.handlers.forEach((handler) => handler.heard(node)),
      onLost: (node) => (this.isHeard(node) ? false : this.lost(node)),
    })
    metrics.sampled('media_nodes', 'Media nodes that this master hears', () => this.live().length)
    metrics.sampled(
      'media_nodes_backed_off',
      'Media nodes on which placement is backed off after repeated crashes',
      () => this.connected().filter((row) => isBackedOff(row.backOffUntil, clock.now())).length,
    )
  }

  onModuleInit(): void {
    this.handlers = providersWith(this.discovery, NodeObserver)
  }

  /** A master serves once it has heard every node that there is. */
  async onApplicationBootstrap(): Promise<void> {
    await this.refresh()
    this.timer = setInterval(() => void this.refreshQuietly(), REFRESH_MS)
    await setTimeout(HEARTBEAT_INTERVAL_MS + HEARTBEAT_DELAY_MS)
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer)
    await this.heartbeats.stop()
  }

  /** The nodes that are heard, and those not yet silent for long enough to be lost; whether they belong or not. */
  live(): Heartbeat[] {
    return this.heartbeats.table.live()
  }

  /**
   * Those of them that belong to the cluster, or do as soon as it is written down. A node that is to go shows as
   * draining even before it says so.
   */
  members(): Member[] {
    return this.live().flatMap((beat) => {
      const row = this.known.get(beat.nodeId)
      if (!row) return beat.joins && !this.deferred.has(beat.nodeId) ? [beat] : []
      if (!isConnected(row) || row.bootId !== beat.bootId) return []
      if (row.status !== 'running') return [{ ...beat, status: 'draining' as const }]
      return [isBackedOff(row.backOffUntil, this.clock.now()) ? { ...beat, isBackedOff: true } : beat]
    })
  }

  /** An unknown node that is not registered yet takes no sessions. */
  defer(nodeId: string): void {
    this.deferred.add(nodeId)
  }

  /** The nodes that the cluster has and that are connected. */
  connected(): MediaNodeRow[] {
    return this.rows().filter(isConnected)
  }

  /** The last heartbeat of the node; undefined once its loss was handled. */
  heard(nodeId: string): Heartbeat | undefined {
    return this.heartbeats.table.get(nodeId)
  }

  /** The heartbeat of a process that turned out to hold the id of its node. */
  accept(node: Heartbeat): void {
    this.heartbeats.table.beat(node)
  }

  /** Whether this master hears that start of the node itself. */
  hears({ nodeId, bootId }: NodeBoot): boolean {
    return this.live().some((beat) => beat.nodeId === nodeId && beat.bootId === bootId)
  }

  /** When it said it, by `performance.now()`. */
  heardAt(nodeId: string): number {
    return this.heartbeats.table.lastHeartbeatAt(nodeId)
  }

  /** Whether a session may be meant for that node. */
  isKnown(nodeId: string): boolean {
    return this.members().some((node) => node.nodeId === nodeId && node.status === 'running')
  }

  /** As of at most a second ago. */
  row(nodeId: string): MediaNodeRow | undefined {
    return this.known.get(nodeId)
  }

  rows(): MediaNodeRow[] {
    return [...this.known.values()]
  }

  /** Ids of the nodes that fell silent without having said that they would go. */
  disconnected(): string[] {
    return this.rows()
      .filter((row) => isUp(row.status) && row.disconnectedAt !== null)
      .map(({ id }) => id)
  }

  /** Reads what the cluster has; a read that was overtaken by another does not count. */
  async refresh(): Promise<void> {
    const nth = ++this.reads
    const rows = await this.repository.all()
    if (nth === this.reads) this.known = new Map(rows.map((row) => [row.id, row]))
    const live = new Set(this.live().map(({ nodeId }) => nodeId))
    this.deferred = new Set([...this.deferred].filter((nodeId) => live.has(nodeId) && !this.known.has(nodeId)))
  }

  /** A row as it has just been read or written here. */
  learn(row: MediaNodeRow): void {
    this.reads++
    this.known.set(row.id, row)
  }

  /** Sends a command and waits for its result. Rejects with the node's ServiceError, UNAVAILABLE (node gone) or TIMEOUT. */
  request<C extends NodeCommand>(
    { nodeId }: Pick<NodeBoot, 'nodeId'>,
    command: C,
    params: NodeCommandParams<C>,
    options: { timeoutMs?: number } = {},
  ): Promise<NodeCommandResult<C>> {
    return this.bus.request(SUBJECT.nodeCommand(nodeId, command), nodeRpc(command), params, options)
  }

  /** Sends a command without a result that the caller needs. A failure is logged; the reconciler repairs its effect. */
  async notify<C extends NodeCommand>(
    node: Pick<NodeBoot, 'nodeId'>,
    command: C,
    params: NodeCommandParams<C>,
  ): Promise<void> {
    await this.request(node, command, params).catch((error: unknown) => {
      this.logger.warn(`media node ${node.nodeId} did not carry out ${command}: ${String(error)}`)
    })
  }

  /** Whether a master hears that start of the node: this one, or another that has written so. */
  isHeard({ nodeId, bootId }: NodeBoot, row = this.known.get(nodeId)): boolean {
    return (
      row !== undefined &&
      row.bootId === bootId &&
      isConnected(row) &&
      Math.abs(this.clock.now() - row.heardAt) < HEARD_MS
    )
  }

  /** Nodes of the cluster that any master hears. */
  get aliveAnywhere(): MediaNodeRow[] {
    return this.rows().filter((row) => this.isHeard({ nodeId: row.id, bootId: row.bootId ?? '' }))
  }

  /** Nodes of the cluster that this master hears. */
  get aliveHere(): MediaNodeRow[] {
    const live = new Set(this.live().map(({ nodeId }) => nodeId))
    return this.aliveAnywhere.filter(({ id }) => live.has(id))
  }

  private async lost(node: Heartbeat): Promise<void> {
    for (const handler of this.handlers) await handler.lost(node)
  }

  private async noteHeard(): Promise<void> {
    const [now, since] = [this.clock.now(), performance.now()]
    const beats = this.live().map(({ nodeId, bootId }) => {
      return { nodeId, bootId, at: Math.round(now - (since - this.heardAt(nodeId))) }
    })
    if (beats.length > 0) await this.repository.noteHeard(beats, LATELY_MS)
  }

  private async refreshQuietly(): Promise<void> {
    const written = this.noteHeard().then(() => this.refresh())
    await written.catch((error: unknown) => this.logger.debug(`media nodes could not be read: ${String(error)}`))
  }
}

export const isConnected = (row: MediaNodeRow): boolean =>
  isUp(row.status) && row.bootId !== null && row.disconnectedAt === null
