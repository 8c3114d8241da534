import { Inject, Injectable, Logger } from '@nestjs/common'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { NODE_DRIVER, type NodeDriver } from '../media-nodes/drivers/node-driver.js'
import { MediaNodeRepository, type MediaNodeRow } from '../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

const FORGET_EVERY_MS = 10_000
/** An order that has not been followed is given again after this long, ms. */
const AGAIN_MS = 3_000
/** A node that was told to end and still goes on after this long, ms, is ended by who started it. */
const FORCED_AFTER_MS = 15_000
/** Nodes that have gone are remembered this long, ms, so that what is still heard of them makes them no new ones. */
const REMEMBERED_MS = 10 * 60_000
const FAILED_SHOWN_MS = 60_000

/** Sees to it that nodes do what their status says. The row is the order: any master may give it, again and again. */
@Injectable()
export class DesiredStateEnforcer {
  private readonly logger = new Logger(DesiredStateEnforcer.name)
  private readonly toldAt = new Map<string, number>()

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly loss: NodeFailureHandler,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
  ) {}

  /** What the status of the row demands, now. */
  async carryOut(row: MediaNodeRow): Promise<void> {
    this.toldAt.set(row.id, performance.now())
    if (row.status === 'waiting-idle-to-terminate' && isConnected(row)) {
      await this.mediaNodes.notify({ nodeId: row.id }, 'drain', { deadlineMs: null })
    }
    if (row.status === 'terminated') await this.mediaNodes.notify({ nodeId: row.id }, 'terminate', {})
    if (row.status !== 'terminating') return
    await this.loss.takeAway(row.id)
    if (isConnected(row)) await this.mediaNodes.notify({ nodeId: row.id }, 'terminate', {})
    else await this.loss.settle(row)
  }

  @Job({ name: 'media node orders', scope: 'leader', everyMs: 0 })
  async upkeep({ now }: JobRun): Promise<void> {
    for (const row of this.mediaNodes.rows()) {
      if (!this.isDisregarded(row)) this.toldAt.delete(row.id)
      else if (now - (this.toldAt.get(row.id) ?? now - row.statusAge) >= AGAIN_MS) await this.again(row)
    }
  }

  @Job({ name: 'gone media nodes', scope: 'leader', everyMs: FORGET_EVERY_MS })
  async forgetGone(): Promise<void> {
    const heard = this.mediaNodes.live().map(({ nodeId }) => nodeId)
    await this.repository.forget(REMEMBERED_MS, FAILED_SHOWN_MS, heard)
  }

  private async again(row: MediaNodeRow): Promise<void> {
    await this.carryOut(row)
    const isHanging = row.status !== 'waiting-idle-to-terminate' && row.statusAge >= FORCED_AFTER_MS
    if (!isHanging || !this.driver.startsNodes) return
    await this.driver.drop(row).catch((error: unknown) => {
      this.logger.warn({ err: error }, `media node ${row.id} could not be ended`)
    })
  }

  /** Whether the node that is heard does otherwise than its status says. */
  private isDisregarded({ id, bootId, status }: MediaNodeRow): boolean {
    const heard = this.mediaNodes.heard(id)
    if (heard?.bootId !== bootId) return false
    return status === 'waiting-idle-to-terminate' ? heard?.status === 'running' : isOver(status)
  }
}

const isOver = (status: MediaNodeRow['status']): boolean => status === 'terminating' || status === 'terminated'
