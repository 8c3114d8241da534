import {
  type DeletionStrategy,
  type MediaNodeStatus,
  type MediaNodeView,
  ServiceError,
} from '@session-service/contract'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { mayBeAskedToBecome } from '../../media-nodes/media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../../media-nodes/media-node.repository.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { isShown, MediaNodeQueries, noSuchNode } from './media-node-queries.service.js'
import { DesiredStateEnforcer } from '../../recovery/desired-state-enforcer.service.js'

export type Removal = 'begun' | 'waits'

/** Changes of status that backends ask for, and what follows. An answer may come before all of it is done. */
@Injectable()
export class RemoveMediaNode implements OnModuleDestroy {
  private readonly logger = new Logger(RemoveMediaNode.name)
  private readonly underWay = new Set<Promise<void>>()

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly orders: DesiredStateEnforcer,
    private readonly listing: MediaNodeQueries,
    private readonly clock: ClusterClock,
  ) {}

  isStopping = false

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    await Promise.all(this.underWay)
  }

  /** Undefined when it has the status. */
  async changeStatus(id: string, status: MediaNodeStatus): Promise<MediaNodeView | undefined> {
    const before = await this.repository.find(id)
    if (!before || !isShown(before)) throw noSuchNode(id)
    if (before.status === status) return undefined
    this.requireAskable(before.status, status)
    // First the node, which may be past coming back.
    if (status === 'running') await this.mediaNodes.ask({ nodeId: id }, 'undrain', {})
    const row = await this.repository.change(async (change) => {
      const locked = await this.locked(change, id)
      if (locked.status === status) return locked
      this.requireAskable(locked.status, status)
      return this.repository.setStatus(change, locked, status, { drainDeadline: null })
    })
    this.follow(row)
    return this.listing.view(row)
  }

  /** Begins to remove the node; CONFLICT when it is busy and the strategy would rather keep it. */
  async remove(id: string, strategy: DeletionStrategy): Promise<{ node: MediaNodeView; removal: Removal }> {
    const row = await this.repository.change((change) => this.begin(change, id, strategy))
    this.follow(row)
    return {
      node: await this.listing.view(row),
      removal: row.status === 'waiting-idle-to-terminate' ? 'waits' : 'begun',
    }
  }

  private async begin(change: NodeChange, id: string, strategy: DeletionStrategy): Promise<MediaNodeRow> {
    const row = await this.locked(change, id)
    switch (row.status) {
      case 'terminating':
        return row
      case 'failed':
        await this.repository.remove(change, id)
        return row
      case 'launching':
        return this.giveUp(change, await this.repository.setStatus(change, row, 'canceled'))
      case 'canceled':
        return this.giveUp(change, row)
      default:
        return this.beginOfOneThatIsUp(change, row, strategy)
    }
  }

  private async beginOfOneThatIsUp(
    change: NodeChange,
    row: MediaNodeRow,
    strategy: DeletionStrategy,
  ): Promise<MediaNodeRow> {
    const isBusy = await this.repository.isBusy(change, row.id)
    if (!isBusy || strategy === 'now') return this.repository.setStatus(change, row, 'terminating')
    if (strategy === 'if-no-sessions')
      throw new ServiceError('CONFLICT', `there are sessions or recordings on media node ${row.id}`)
    if (row.status === 'waiting-idle-to-terminate') return row
    return this.repository.setStatus(change, row, 'waiting-idle-to-terminate')
  }

  /** It was never heard, and need not be waited for. */
  private giveUp(change: NodeChange, row: MediaNodeRow): Promise<MediaNodeRow> {
    return this.repository.setStatus(change, row, 'terminating', { disconnectedAt: this.clock.now() })
  }

  private follow(row: MediaNodeRow): void {
    this.mediaNodes.learn(row)
    const work = this.orders
      .carryOut(row)
      .catch((error: unknown) => this.logger.warn({ err: error }, `media node ${row.id} was not told yet`))
      .finally(() => this.underWay.delete(work))
    this.underWay.add(work)
  }

  private async locked(change: NodeChange, id: string): Promise<MediaNodeRow> {
    const row = await this.repository.lock(change, id)
    if (!row || !isShown(row)) throw noSuchNode(id)
    return row
  }

  private requireAskable(from: MediaNodeStatus, to: MediaNodeStatus): void {
    if (!mayBeAskedToBecome(from, to)) throw new ServiceError('INVALID', `status: ${from} cannot become ${to}`)
  }
}
