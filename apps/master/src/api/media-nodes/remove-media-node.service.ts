import {
  type DeletionStrategy,
  type MediaNodeStatus,
  type MediaNodeView,
  ServiceError,
} from '@session-service/contract'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { mayBeRequested } from '../../media-nodes/media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../../media-nodes/media-node.repository.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { NodeUsage } from '../../media-nodes/node-usage.js'
import { isShown, MediaNodeQueries, noSuchNode } from './media-node-queries.service.js'
import { DesiredStateEnforcer } from '../../recovery/desired-state-enforcer.service.js'

type Removal = 'started' | 'waiting'

/** Changes the status of media nodes for backends and enforces it; answers may precede the end of the enforcement. */
@Injectable()
export class RemoveMediaNode implements OnModuleDestroy {
  readonly #logger = new Logger(RemoveMediaNode.name)
  readonly #enforcements = new Set<Promise<void>>()
  isStopping = false

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly repository: MediaNodeRepository,
    private readonly usage: NodeUsage,
    private readonly enforcer: DesiredStateEnforcer,
    private readonly queries: MediaNodeQueries,
    private readonly clock: ClusterClock,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    await Promise.all(this.#enforcements)
  }

  /** The node with its new status; undefined when it has that status already. */
  async changeStatus(id: string, status: MediaNodeStatus): Promise<MediaNodeView | undefined> {
    const before = await this.repository.find(id)
    if (!before || !isShown(before)) throw noSuchNode(id)
    if (before.status === status) return undefined
    this.#requireChangeable(before.status, status)
    // The node first: it rejects this when it is terminating already.
    if (status === 'running') await this.nodeCommands.request({ nodeId: id }, 'undrain', {})
    const row = await this.repository.change(async (change) => {
      const locked = await this.#locked(change, id)
      if (locked.status === status) return locked
      this.#requireChangeable(locked.status, status)
      return this.repository.setStatus(change, locked, status, { drainDeadline: null })
    })
    this.#enforce(row)
    return this.queries.view(row)
  }

  /** Starts the removal of a node. @throws ServiceError CONFLICT when it is busy and the strategy keeps busy nodes */
  async remove(id: string, strategy: DeletionStrategy): Promise<{ node: MediaNodeView; removal: Removal }> {
    const row = await this.repository.change((change) => this.#startRemoval(change, id, strategy))
    this.#enforce(row)
    return {
      node: await this.queries.view(row),
      removal: row.status === 'waiting-idle-to-terminate' ? 'waiting' : 'started',
    }
  }

  async #startRemoval(change: NodeChange, id: string, strategy: DeletionStrategy): Promise<MediaNodeRow> {
    const row = await this.#locked(change, id)
    switch (row.status) {
      case 'terminating':
        return row
      case 'failed':
        await this.repository.remove(change, id)
        return row
      case 'launching':
        return this.#endLaunch(change, await this.repository.setStatus(change, row, 'canceled'))
      case 'canceled':
        return this.#endLaunch(change, row)
      default:
        return this.#removeRunning(change, row, strategy)
    }
  }

  async #removeRunning(change: NodeChange, row: MediaNodeRow, strategy: DeletionStrategy): Promise<MediaNodeRow> {
    const isBusy = await this.usage.isBusy(change.manager, row.id)
    if (!isBusy || strategy === 'now') return this.repository.setStatus(change, row, 'terminating')
    if (strategy === 'if-no-sessions')
      throw new ServiceError('CONFLICT', `there are sessions or recordings on media node ${row.id}`)
    if (row.status === 'waiting-idle-to-terminate') return row
    return this.repository.setStatus(change, row, 'waiting-idle-to-terminate')
  }

  /** Ends a launch: a node that never sent a heartbeat needs no drain. */
  #endLaunch(change: NodeChange, row: MediaNodeRow): Promise<MediaNodeRow> {
    return this.repository.setStatus(change, row, 'terminating', { disconnectedAt: this.clock.now() })
  }

  #enforce(row: MediaNodeRow): void {
    this.mediaNodes.update(row)
    const enforcement = this.enforcer
      .enforce(row)
      .catch((error: unknown) =>
        this.#logger.warn(
          { err: error, mediaNodeId: row.id },
          'enforcing the status of the media node failed, will retry',
        ),
      )
      .finally(() => this.#enforcements.delete(enforcement))
    this.#enforcements.add(enforcement)
  }

  async #locked(change: NodeChange, id: string): Promise<MediaNodeRow> {
    const row = await this.repository.lock(change, id)
    if (!row || !isShown(row)) throw noSuchNode(id)
    return row
  }

  #requireChangeable(from: MediaNodeStatus, to: MediaNodeStatus): void {
    if (!mayBeRequested(from, to)) throw new ServiceError('INVALID', `status: ${from} cannot become ${to}`)
  }
}
