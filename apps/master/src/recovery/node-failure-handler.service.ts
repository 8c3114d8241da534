import { type HeldRoom, NODE_SILENT_MS, type NodeFact, type NodeFactAnswer } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { PeriodicRead, type PeriodicReader } from '../platform/jobs/periodic-read.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NODE_DRIVER, type NodeDriver } from '../media-nodes/driver/node-driver.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { SessionRecovery } from './session-recovery.service.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { isLeaving, isUp } from '../media-nodes/media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../media-nodes/media-node.repository.js'
import { MasterMembership } from '../media-nodes/master-membership.js'
import { isConnected, MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { type LostRoom, NodeUsage } from '../media-nodes/node-usage.js'
import type { NodeBoot, PlacedRoom } from '../media-nodes/room-place.js'
import { USED_BOOT_ROWS } from '../media-nodes/session-place.js'

const losses = metrics.counter('media_nodes_lost_total', {
  help: 'Losses of media nodes that this master recorded: after the silent window, or at the end of the process',
  labels: { detected_by: ['silence', 'end'] },
})

/**
 * Detects lost media nodes and passes their sessions to SessionRecovery. The row contains all state, so that `upkeep` of
 * the leader completes the work of a master that died.
 */
@PeriodicRead()
@Injectable()
export class NodeFailureHandler implements PeriodicReader, OnModuleInit, OnModuleDestroy {
  readonly periodicRead = USED_BOOT_ROWS
  readonly #logger = new Logger(NodeFailureHandler.name)
  readonly #pending = new Set<Promise<void>>()
  /** Time of the first missed heartbeat of each boot in use, monotonic ms. */
  readonly #silentSince = new Map<string, number>()
  /** The boots that hold sessions. */
  #usedBoots: readonly NodeBoot[] = []

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly usage: NodeUsage,
    private readonly sessions: SessionsService,
    private readonly recovery: SessionRecovery,
    private readonly claims: NodeIdClaims,
    private readonly clock: ClusterClock,
    private readonly membership: MasterMembership,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  onModuleInit(): void {
    // During an outage of the bus, missing heartbeats do not indicate a failed node.
    this.bus.onStatus(() => this.#silentSince.clear())
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** Handles the loss of a node that no master hears. On the smaller side of a split bus, the other side does. */
  async handleSilent(boot: NodeBoot): Promise<void> {
    if (!this.membership.hasQuorum) return
    await this.#declareLost(boot, 'silence')
  }

  /** Handles the loss of a node whose process has provably ended. */
  async handleEnded(boot: NodeBoot): Promise<void> {
    this.mediaNodes.forget(boot)
    await this.#declareLost(boot, 'end')
  }

  /** One of the masters records the loss, then moves the sessions of the node. */
  async #declareLost({ nodeId, bootId }: NodeBoot, detectedBy: 'silence' | 'end'): Promise<void> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, nodeId)
      if (!found || found.bootId !== bootId || !isConnected(found)) return undefined
      // Another master receives its heartbeats: this master is disconnected, or the bus is split.
      if (detectedBy === 'silence' && this.mediaNodes.isAlive({ nodeId, bootId }, found)) return undefined
      const now = this.clock.now()
      // A terminating node has ended, with or without deregistering.
      if (found.status === 'terminating') return this.repository.set(change, nodeId, { disconnectedAt: now })
      return this.repository.crash(change, found, now)
    })
    if (!row) return
    this.mediaNodes.update(row)
    losses.inc({ detected_by: detectedBy })
    this.#logger.warn({ mediaNodeId: nodeId, detectedBy }, 'the media node is lost')
    const work = this.#finish(row)
      .catch((error: unknown) =>
        this.#logger.warn(
          { err: error, mediaNodeId: nodeId },
          'handling the loss of the media node failed, will retry',
        ),
      )
      .finally(() => this.#pending.delete(work))
    this.#pending.add(work)
  }

  /** Handles a report of a node. Idempotent. */
  async handleReport(fact: Extract<NodeFact, { kind: 'hello' | 'roomsLost' | 'goodbye' }>): Promise<NodeFactAnswer> {
    const node = { nodeId: fact.nodeId, bootId: fact.bootId }
    switch (fact.kind) {
      case 'hello':
        return this.#register(node, fact.rooms)
      case 'roomsLost':
        await this.#lose(await this.#stillPlaced(node, fact.rooms))
        return { dropRoomIds: [] }
      case 'goodbye':
        await this.#deregister(node)
        return { dropRoomIds: [] }
    }
  }

  /** Registers a process. Rooms of older boots of the node are lost, once it is certain that none of them is alive. */
  async #register(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<NodeFactAnswer> {
    await this.loseRooms(node.nodeId)
    const refused = await this.claims.claim(node)
    if (refused !== undefined) return { dropRoomIds: [], refused }
    await this.#lose(await this.sessions.placedOn(node.nodeId, { exceptBootId: node.bootId }))
    return { dropRoomIds: (await this.sessions.strayRooms(node, rooms)).map(({ roomId }) => roomId) }
  }

  /** Moves or ends all sessions on a node. */
  async moveSessions(nodeId: string): Promise<void> {
    await this.#lose(await this.sessions.placedOn(nodeId))
  }

  /** Recovers the sessions of rooms that are recorded as lost, on one node or on all. */
  async loseRooms(nodeId?: string): Promise<void> {
    const causes = new Map<string | undefined, LostRoom[]>()
    for (const room of await this.usage.lostRooms(nodeId)) {
      // The node may be registering now; a deleted node is silent for long.
      if (room.isUnregistered && !this.#isSilent(room.place)) continue
      const cause = room.isCrashed ? (room.crashEventId ?? '') : undefined
      causes.set(cause, [...(causes.get(cause) ?? []), room])
    }
    for (const [crash, rooms] of causes) {
      if (crash === undefined) await this.#lose(rooms)
      else await this.recovery.mediaLost(rooms, { reason: 'nodeCrashed', ...(crash && { afterEventId: crash }) })
    }
  }

  receive(rows: readonly object[]): void {
    this.#usedBoots = rows as readonly NodeBoot[]
  }

  holdsSessions(boot: NodeBoot): boolean {
    return this.#usedBoots.some((used) => keyOf(used) === keyOf(boot))
  }

  @Job({ name: 'lost media nodes', scope: 'leader', everyMs: 0 })
  async upkeep({ now }: Pick<JobRun, 'now'>): Promise<void> {
    this.#updateSilent(now)
    for (const row of this.mediaNodes.rows().filter(isConnected))
      if (this.#isSilent(bootOf(row), now) && !this.mediaNodes.isAlive(bootOf(row)))
        await this.handleSilent(bootOf(row))
    if (this.#usedBoots.some((boot) => this.#isUnavailable(boot))) await this.loseRooms()
  }

  @Job({ name: 'ends of lost media nodes', scope: 'leader', everyMs: 0, isSlow: true })
  async terminateAllLost(): Promise<void> {
    for (const row of this.mediaNodes.rows())
      if (isUp(row.status) && row.disconnectedAt !== null)
        await this.terminateLost(row).catch((error: unknown) => {
          this.#logger.warn({ err: error, mediaNodeId: row.id }, 'ending the media node failed, will retry')
        })
  }

  /** Whether the boot is lost, was replaced, has ended or is not registered. */
  #isUnavailable({ nodeId, bootId }: NodeBoot): boolean {
    const row = this.mediaNodes.row(nodeId)
    return row?.bootId !== bootId || !isConnected(row)
  }

  /** Records which boots send no heartbeats to this master: those of connected nodes, and those that hold sessions. */
  #updateSilent(now: number): void {
    const live = new Set(this.mediaNodes.live().map(keyOf))
    const boots = [...this.mediaNodes.rows().filter(isConnected).map(bootOf), ...this.#usedBoots]
    const silent = new Set(boots.map(keyOf).filter((key) => !live.has(key)))
    for (const key of this.#silentSince.keys()) if (!silent.has(key)) this.#silentSince.delete(key)
    for (const key of silent) if (!this.#silentSince.has(key)) this.#silentSince.set(key, now)
  }

  /** Whether the boot has sent no heartbeat for longer than the silent window. */
  #isSilent(boot: NodeBoot, now = performance.now()): boolean {
    const since = this.#silentSince.get(keyOf(boot))
    return since !== undefined && now - since >= NODE_SILENT_MS
  }

  async #finish(row: MediaNodeRow): Promise<void> {
    await this.loseRooms(row.id)
    await this.terminateLost(row)
  }

  /** Terminates a lost node that is leaving, or has not reconnected within the timeout. */
  async terminateLost({ id, environmentId, status, disconnectedAt }: MediaNodeRow): Promise<void> {
    const timeoutS = this.config.SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT
    const isOver = timeoutS >= 0 && this.clock.now() - (disconnectedAt ?? 0) >= timeoutS * 1_000
    if (!isLeaving(status) && !isOver) return
    const isStillLost = (row: MediaNodeRow): boolean => row.disconnectedAt === disconnectedAt
    if (this.driver.startsNodes) {
      // A node that has returned must not be stopped, and a terminating one does not return.
      const row = await this.repository.change((change) => this.#startEnd(change, id, isStillLost))
      if (!row) return
      this.mediaNodes.update(row)
      await this.driver.drop({ id, environmentId })
    }
    await this.#end(id, isStillLost)
  }

  async #deregister({ nodeId, bootId }: NodeBoot): Promise<void> {
    const isSameBoot = (row: MediaNodeRow): boolean => row.bootId === bootId
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, nodeId)
      if (!found || !isSameBoot(found) || !isUp(found.status) || found.status === 'terminating') return found
      return this.repository.setStatus(change, found, 'terminating')
    })
    if (row) this.mediaNodes.update(row)
    await this.#lose(await this.sessions.placedOn(nodeId, { bootId }))
    await this.#end(nodeId, isSameBoot)
  }

  /** Sets a node without sessions to `terminated`. */
  async #end(nodeId: string, isExpected: (row: MediaNodeRow) => boolean): Promise<void> {
    const row = await this.repository.change(async (change) => {
      const terminating = await this.#startEnd(change, nodeId, isExpected)
      return terminating && this.repository.setStatus(change, terminating, 'terminated')
    })
    if (row) this.mediaNodes.update(row)
  }

  /** Sets a node to `terminating`. Undefined when it has ended, or is not as expected. */
  async #startEnd(
    change: NodeChange,
    nodeId: string,
    isExpected: (row: MediaNodeRow) => boolean,
  ): Promise<MediaNodeRow | undefined> {
    const found = await this.repository.lock(change, nodeId)
    if (!found || !isUp(found.status) || !isExpected(found)) return undefined
    if (found.status === 'terminating') return found
    const isGivenUp = found.disconnectedAt !== null && !isLeaving(found.status)
    return this.repository.setStatus(change, found, 'terminating', { isGivenUp })
  }

  /** The reported rooms whose sessions are still placed on the node. */
  async #stillPlaced(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<PlacedRoom[]> {
    const stray = new Set(await this.sessions.strayRooms(node, rooms))
    return rooms.filter((room) => !stray.has(room)).map(({ roomId, epoch }) => ({ roomId, place: { ...node, epoch } }))
  }

  async #lose(rooms: readonly PlacedRoom[]): Promise<void> {
    if (rooms.length > 0) await this.recovery.mediaLost(rooms, { reason: 'mediaServerDisconnect' })
  }
}

const bootOf = ({ id, bootId }: MediaNodeRow): NodeBoot => ({ nodeId: id, bootId: bootId ?? '' })
const keyOf = ({ nodeId, bootId }: NodeBoot): string => `${nodeId}/${bootId}`
