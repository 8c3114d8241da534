import { NODE_BOOT_RPC, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { decideClaim, type HolderAnswer } from './id-claim.js'
import { isLeaving, isUp } from '../media-nodes/media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { NodeBoot } from '../media-nodes/room-place.js'

/** A process that ignored the request to register is asked again after this long, ms. */
const CHALLENGE_AGAIN_MS = 10_000

const refusals = metrics.counter('media_node_registrations_refused_total', {
  help: 'Registrations refused because another live process holds the MEDIA_NODE_ID',
})

/** Decides which process holds the id of a media node. Only a registration changes the holder, never a heartbeat. */
@Injectable()
export class NodeIdClaims {
  readonly #logger = new Logger(NodeIdClaims.name)
  /** When a process was last asked to register again, by its boot id. */
  readonly #challengedAt = new Map<string, number>()
  #connectedAt = -Infinity

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly clock: ClusterClock,
  ) {
    bus.onStatus((connected) => {
      if (connected) this.#connectedAt = performance.now()
    })
  }

  /**
   * Returns why the process is refused; undefined when it holds the id now.
   * @throws ServiceError UNAVAILABLE while it is not known whether the holder is alive
   */
  async claim(node: NodeBoot): Promise<string | undefined> {
    const row = await this.repository.find(node.nodeId)
    const holder = this.#holderOf(node.nodeId, row)
    if (holder === undefined || holder.bootId === node.bootId) return undefined
    const decision = decideClaim({
      holder: await this.probe(holder),
      isConnected: row !== undefined && isConnected(row),
      isAliveElsewhere: this.mediaNodes.isAlive(holder, row) && !this.mediaNodes.isAliveHere(holder),
      busConnectedMs: performance.now() - this.#connectedAt,
    })
    if (decision === 'refuse') return this.#refuse(node, row)
    if (decision === 'wait')
      throw new ServiceError('UNAVAILABLE', 'the process that holds the id may be alive', { subject: 'mediaNode' })
    await this.#supersede(node, holder)
    return undefined
  }

  /** Asks a process that sends heartbeats without holding its id to register, which admits or refuses it. */
  async challenge({ nodeId, bootId }: NodeBoot): Promise<void> {
    const now = performance.now()
    for (const [boot, at] of this.#challengedAt) if (now - at >= CHALLENGE_AGAIN_MS) this.#challengedAt.delete(boot)
    if (this.#challengedAt.has(bootId)) return
    this.#challengedAt.set(bootId, now)
    this.#logger.warn(
      { mediaNodeId: nodeId, bootId },
      'two processes send heartbeats with this media node id: the second one has to register again',
    )
    await this.bus
      .request(SUBJECT.nodeBoot(nodeId, bootId), NODE_BOOT_RPC, { register: true })
      .catch((error: unknown) =>
        this.#logger.warn({ mediaNodeId: nodeId, bootId }, `the second process did not answer: ${String(error)}`),
      )
  }

  /** The process of the row; without a live row, the process that sends heartbeats. */
  #holderOf(nodeId: string, row: MediaNodeRow | undefined): NodeBoot | undefined {
    if (row && isUp(row.status) && row.bootId !== null) return { nodeId, bootId: row.bootId }
    return this.mediaNodes.live().find((beat) => beat.nodeId === nodeId)
  }

  /** Whether the process listens on the bus. */
  async probe(holder: NodeBoot): Promise<HolderAnswer> {
    try {
      await this.bus.request(SUBJECT.nodeBoot(holder.nodeId, holder.bootId), NODE_BOOT_RPC, {})
      return 'alive'
    } catch (error) {
      const hasNoListener = error instanceof ServiceError && error.code === 'UNAVAILABLE' && this.bus.connected
      return hasNoListener ? 'absent' : 'silent'
    }
  }

  #refuse({ nodeId, bootId }: NodeBoot, row: MediaNodeRow | undefined): string {
    refusals.inc({})
    const where = row?.uri ? ` at ${row.uri}` : ''
    this.#logger.warn({ mediaNodeId: nodeId, bootId }, 'a second process with the id of a media node is refused')
    return `another process${where} is alive with the id ${nodeId}: give each media node an id of its own`
  }

  /** Replaces a dead holder. The caller moves its sessions afterwards. */
  async #supersede(node: NodeBoot, holder: NodeBoot): Promise<void> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, node.nodeId)
      if (!found || !isUp(found.status)) return found
      if (found.bootId !== holder.bootId)
        throw new ServiceError('UNAVAILABLE', 'another process has registered meanwhile', { subject: 'mediaNode' })
      return isLeaving(found.status) ? this.#end(change, found) : this.#replace(change, found, node)
    })
    if (row) this.mediaNodes.update(row)
    this.#logger.warn({ mediaNodeId: node.nodeId, bootId: node.bootId }, 'the media node was restarted')
  }

  /** A leaving node ends with its process. The new process registers as a new node with its first heartbeat. */
  async #end(change: NodeChange, row: MediaNodeRow): Promise<MediaNodeRow> {
    const terminating = row.status === 'terminating' ? row : await this.repository.setStatus(change, row, 'terminating')
    return this.repository.setStatus(change, terminating, 'terminated')
  }

  /** A lost node stays disconnected until the first heartbeat of the new process. */
  #replace(change: NodeChange, row: MediaNodeRow, { bootId }: NodeBoot): Promise<MediaNodeRow | undefined> {
    if (isConnected(row)) return this.repository.replace(change, row, bootId, this.clock.now())
    return this.repository.set(change, row.id, { bootId })
  }
}
