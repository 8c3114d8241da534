import { type HeldRoom, NODE_SILENT_MS, type NodeFact, type NodeFactAnswer } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NODE_DRIVER, type NodeDriver } from '../media-nodes/drivers/node-driver.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { SessionRecovery } from './session-recovery.service.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { isLeaving, isUp } from '../media-nodes/media-node-status.js'
import { type LostRoom, MediaNodeRepository, type MediaNodeRow } from '../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { NodeBoot, PlacedRoom } from '../media-nodes/room-place.js'

/**
 * Finds out which media nodes are lost, and hands their sessions to the recovery. What is recorded in the row is enough
 * for any master to go on from there: `upkeep` finishes what a master that died meanwhile left.
 */
@Injectable()
export class NodeFailureHandler implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(NodeFailureHandler.name)
  private readonly underWay = new Set<Promise<void>>()
  /** Since when a boot that should be heard has not been, ms. */
  private readonly unheardSince = new Map<string, number>()

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly sessions: SessionsService,
    private readonly recovery: SessionRecovery,
    private readonly claims: NodeIdClaims,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  onModuleInit(): void {
    // While the bus is away, the silence of a media node proves nothing.
    this.bus.onStatus(() => this.unheardSince.clear())
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.underWay)
  }

  /** A node has fallen silent: of all masters one records it, and moves its sessions after that. */
  async silent({ nodeId, bootId }: NodeBoot): Promise<void> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, nodeId)
      if (!found || found.bootId !== bootId || !isConnected(found)) return undefined
      // Then it is this master that is cut off, or the bus is split.
      if (this.mediaNodes.isHeard({ nodeId, bootId }, found)) return undefined
      const now = this.clock.now()
      // One that was told to end has ended, with or without a word.
      if (found.status === 'terminating') return this.repository.set(change, nodeId, { disconnectedAt: now })
      return this.repository.crash(change, found, now)
    })
    if (!row) return
    this.mediaNodes.learn(row)
    this.logger.warn(`media node ${nodeId} is lost`)
    const work = this.finish(row)
      .catch((error: unknown) => this.logger.warn({ err: error }, `the loss of ${nodeId} is not dealt with yet`))
      .finally(() => this.underWay.delete(work))
    this.underWay.add(work)
  }

  /** What a node says of itself. Twice the same does no harm. */
  async take(fact: Exclude<NodeFact, { kind: 'recordingEnded' | 'clock' }>): Promise<NodeFactAnswer> {
    const node = { nodeId: fact.nodeId, bootId: fact.bootId }
    switch (fact.kind) {
      case 'hello':
        return this.hello(node, fact.rooms)
      case 'roomsLost':
        await this.lose(await this.stillPlaced(node, fact.rooms))
        return { dropRoomIds: [] }
      case 'goodbye':
        await this.goodbye(node)
        return { dropRoomIds: [] }
    }
  }

  /** A process registers. What older starts of its node held is gone, once it is sure that none of them is alive. */
  private async hello(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<NodeFactAnswer> {
    await this.loseRooms(node.nodeId)
    const refused = await this.claims.claim(node)
    if (refused !== undefined) return { dropRoomIds: [], refused }
    await this.lose(await this.sessions.placedOn(node.nodeId, { exceptBootId: node.bootId }))
    return { dropRoomIds: (await this.sessions.strayRooms(node, rooms)).map(({ roomId }) => roomId) }
  }

  /** Moves or ends all that is on a node which is to go. */
  async takeAway(nodeId: string): Promise<void> {
    await this.lose(await this.sessions.placedOn(nodeId))
  }

  /** Of one node, or of all: rooms that are recorded as lost. */
  async loseRooms(nodeId?: string): Promise<void> {
    const causes = new Map<string | undefined, LostRoom[]>()
    for (const room of await this.repository.lostRooms(nodeId)) {
      // Of a node that is just being registered; or of one that nobody remembers.
      if (room.isUnregistered && !this.isUnheard(room.place)) continue
      const cause = room.isCrashed ? (room.crashEventId ?? '') : undefined
      causes.set(cause, [...(causes.get(cause) ?? []), room])
    }
    for (const [crash, rooms] of causes) {
      if (crash === undefined) await this.lose(rooms)
      else await this.recovery.mediaLost(rooms, { reason: 'nodeCrashed', ...(crash && { afterEventId: crash }) })
    }
  }

  @Job({ name: 'lost media nodes', scope: 'leader', everyMs: 0 })
  async upkeep({ now }: Pick<JobRun, 'now'>): Promise<void> {
    await this.mediaNodes.refresh()
    await this.noteUnheard(now)
    for (const row of this.mediaNodes.rows().filter(isConnected))
      if (this.isUnheard(bootOf(row), now) && !this.mediaNodes.isHeard(bootOf(row))) await this.silent(bootOf(row))
    await this.loseRooms()
    for (const row of this.mediaNodes.rows())
      if (isUp(row.status) && row.disconnectedAt !== null)
        await this.settle(row).catch((error: unknown) => {
          this.logger.warn({ err: error }, `media node ${row.id} could not be ended`)
        })
  }

  /** Notes which boots this master should hear and does not: of members, and of sessions whatever they are on. */
  private async noteUnheard(now: number): Promise<void> {
    const live = new Set(this.mediaNodes.live().map(keyOf))
    const boots = [...this.mediaNodes.rows().filter(isConnected).map(bootOf), ...(await this.sessions.usedBoots())]
    const unheard = new Set(boots.map(keyOf).filter((key) => !live.has(key)))
    for (const key of this.unheardSince.keys()) if (!unheard.has(key)) this.unheardSince.delete(key)
    for (const key of unheard) if (!this.unheardSince.has(key)) this.unheardSince.set(key, now)
  }

  /** Whether it has not been heard for longer than a node may be silent. */
  private isUnheard(boot: NodeBoot, now = performance.now()): boolean {
    const since = this.unheardSince.get(keyOf(boot))
    return since !== undefined && now - since >= NODE_SILENT_MS
  }

  private async finish(row: MediaNodeRow): Promise<void> {
    await this.loseRooms(row.id)
    await this.settle(row)
  }

  /** A node that does not come back, or has not for too long, is gone for good. */
  async settle({ id, environmentId, status, disconnectedAt }: MediaNodeRow): Promise<void> {
    const timeoutS = this.config.SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT
    const isOver = timeoutS >= 0 && this.clock.now() - (disconnectedAt ?? 0) >= timeoutS * 1_000
    if (!isLeaving(status) && !isOver) return
    if (this.driver.startsNodes) await this.driver.drop({ id, environmentId })
    await this.end(id, (row) => row.disconnectedAt === disconnectedAt)
  }

  private async goodbye({ nodeId, bootId }: NodeBoot): Promise<void> {
    const isIt = (row: MediaNodeRow): boolean => row.bootId === bootId
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, nodeId)
      if (!found || !isIt(found) || !isUp(found.status) || found.status === 'terminating') return found
      return this.repository.setStatus(change, found, 'terminating')
    })
    if (row) this.mediaNodes.learn(row)
    await this.lose(await this.sessions.placedOn(nodeId, { bootId }))
    await this.end(nodeId, isIt)
  }

  /** What it held has been taken away: it is `terminated`. */
  private async end(nodeId: string, isIt: (row: MediaNodeRow) => boolean): Promise<void> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, nodeId)
      if (!found || !isUp(found.status) || !isIt(found)) return undefined
      const going =
        found.status === 'terminating' ? found : await this.repository.setStatus(change, found, 'terminating')
      return this.repository.setStatus(change, going, 'terminated')
    })
    if (row) this.mediaNodes.learn(row)
  }

  /** Of rooms that a node lost, those that the sessions have not left since. */
  private async stillPlaced(node: NodeBoot, rooms: readonly HeldRoom[]): Promise<PlacedRoom[]> {
    const stray = new Set(await this.sessions.strayRooms(node, rooms))
    return rooms.filter((room) => !stray.has(room)).map(({ roomId, epoch }) => ({ roomId, place: { ...node, epoch } }))
  }

  private async lose(rooms: readonly PlacedRoom[]): Promise<void> {
    if (rooms.length > 0) await this.recovery.mediaLost(rooms, { reason: 'mediaServerDisconnect' })
  }
}

const bootOf = ({ id, bootId }: MediaNodeRow): NodeBoot => ({ nodeId: id, bootId: bootId ?? '' })
const keyOf = ({ nodeId, bootId }: NodeBoot): string => `${nodeId}/${bootId}`
