import { Inject, Injectable, Logger } from '@nestjs/common'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { NODE_DRIVER, type NodeDriver } from '../media-nodes/driver/node-driver.js'
import { ENDED_NODES, MediaNodeRepository, type MediaNodeRow } from '../media-nodes/media-node.repository.js'
import { isConnected, MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

const FORGET_EVERY_MS = 10_000
/**
 * A command that the node has not carried out is sent again after this long, ms. A status that is being changed back
 * contradicts the heartbeats too, until both the node and the row have changed.
 */
const RETRY_MS = 3_000
/** A node that still runs this long after the command to terminate, ms, is stopped by the driver. */
const FORCED_AFTER_MS = 15_000
/** Rows of terminated nodes are kept this long, ms, so that late heartbeats do not register them again. */
const KEEP_TERMINATED_MS = 10 * 60_000
const KEEP_FAILED_MS = 60_000

/** Sends nodes the commands that their status requires, and repeats them until the node has carried them out. */
@Injectable()
export class DesiredStateEnforcer {
  readonly #logger = new Logger(DesiredStateEnforcer.name)
  /** When the last command was sent, or heartbeats first contradicted the status, monotonic ms. */
  readonly #sentAt = new Map<string, number>()

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly repository: MediaNodeRepository,
    private readonly failures: NodeFailureHandler,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
  ) {}

  /** Sends the commands for the status of the row now. */
  async enforce(row: MediaNodeRow): Promise<void> {
    this.#sentAt.set(row.id, performance.now())
    if (row.status === 'waiting-idle-to-terminate' && isConnected(row)) {
      await this.nodeCommands.notify({ nodeId: row.id }, 'drain', { deadlineMs: null })
    }
    if (row.status === 'terminated') {
      // The driver replaces the nodes that it starts; others are started again by their supervisor.
      const givenUp = row.isGivenUp && !this.driver.startsNodes
      await this.nodeCommands.notify({ nodeId: row.id }, 'terminate', { ...(givenUp && { givenUp }) })
    }
    if (row.status !== 'terminating') return
    await this.failures.moveSessions(row.id)
    if (isConnected(row)) await this.nodeCommands.notify({ nodeId: row.id }, 'terminate', {})
    else await this.failures.terminateLost(row)
  }

  @Job({ name: 'media node orders', scope: 'leader', everyMs: 0, isSlow: true })
  async upkeep({ now }: JobRun): Promise<void> {
    for (const row of this.mediaNodes.rows()) {
      const sentAt = this.#sentAt.get(row.id)
      if (!this.#isOutstanding(row)) this.#sentAt.delete(row.id)
      else if (sentAt === undefined) this.#sentAt.set(row.id, now)
      else if (now - sentAt >= RETRY_MS) await this.#retry(row)
    }
  }

  @Job({ name: 'gone media nodes', scope: 'leader', everyMs: FORGET_EVERY_MS, due: ENDED_NODES })
  async forgetGone(): Promise<void> {
    const alive = this.mediaNodes.live().map(({ nodeId }) => nodeId)
    await this.repository.deleteEnded(KEEP_TERMINATED_MS, KEEP_FAILED_MS, alive)
  }

  async #retry(row: MediaNodeRow): Promise<void> {
    await this.enforce(row)
    const isHanging = row.status !== 'waiting-idle-to-terminate' && row.statusAge >= FORCED_AFTER_MS
    if (!isHanging || !this.driver.startsNodes) return
    await this.driver.drop(row).catch((error: unknown) => {
      this.#logger.warn({ err: error, mediaNodeId: row.id }, 'stopping the media node failed, will retry')
    })
  }

  /** Whether the node sends heartbeats that contradict its status. */
  #isOutstanding({ id, bootId, status }: MediaNodeRow): boolean {
    const beat = this.mediaNodes.lastHeartbeat(id)
    if (beat?.bootId !== bootId) return false
    return status === 'waiting-idle-to-terminate' ? beat?.status === 'running' : isOver(status)
  }
}

const isOver = (status: MediaNodeRow['status']): boolean => status === 'terminating' || status === 'terminated'
