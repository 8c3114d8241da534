import { Inject, Injectable, Logger } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { Job } from '../platform/jobs/job.js'
import { type DrivenAction, drivenPlan } from './driven-plan.js'
import { type DrivenNode, NODE_DRIVER, type NodeDriver } from './driver/node-driver.js'
import { MediaNodeRepository } from './media-node.repository.js'
import { isConnected, MediaNodesService } from './media-nodes.service.js'
import { NodeLaunchService } from './node-launch.service.js'

/** Keeps the rows of media nodes and what the driver has started in agreement, and passes their use to the environment. */
@Injectable()
export class DrivenNodesService {
  readonly #logger = new Logger(DrivenNodesService.name)
  readonly #launching = new Set<string>()
  #driven: ReadonlyMap<string, DrivenNode> = new Map()
  #problem = ''

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly launches: NodeLaunchService,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
  ) {}

  /** The driver's report about the node, at most seconds old; only on the leader. */
  of(id: string): DrivenNode | undefined {
    return this.#driven.get(id)
  }

  @Job({ name: 'driven media nodes', scope: 'leader', everyMs: 0, isSlow: true })
  async upkeep(): Promise<void> {
    try {
      await this.#reconcile()
      this.#problem = ''
    } catch (error) {
      this.#report(error)
    }
  }

  async #reconcile(): Promise<void> {
    if (!this.driver.nodes) return
    const driven = await this.driver.nodes()
    this.#driven = new Map(driven.map((node) => [node.id, node]))
    const alive = new Set(this.mediaNodes.live().map(({ nodeId }) => nodeId))
    const view = { rows: this.mediaNodes.rows(), driven, alive, now: this.clock.now() }
    for (const action of drivenPlan(view)) {
      await this.#apply(action).catch((error: unknown) => {
        this.#logger.warn({ err: error, mediaNodeId: idOf(action) }, 'reconciling the media node failed, will retry')
      })
    }
    await this.driver.annotate?.(this.#uses())
  }

  async #apply(action: DrivenAction): Promise<void> {
    switch (action.kind) {
      case 'launch':
        return this.#repeatLaunch(action.row)
      case 'fail': {
        const row = await this.launches.fail(action.id, action.reason)
        // Otherwise it has connected meanwhile, or another step has ended its launch and stops it.
        if (!row) return
        this.#logger.warn({ mediaNodeId: action.id }, `the media node did not start: ${action.reason}`)
        return this.launches.drop(row)
      }
      case 'explain':
        return this.#explain(action.id, action.reason)
      case 'drop':
        this.#logger.log(
          { mediaNodeId: action.node.id },
          `removing what is left of the media node: ${action.node.name}`,
        )
        return this.driver.drop({ id: action.node.id })
    }
  }

  /** `start` records a failure in the row. */
  async #repeatLaunch({ id, environmentId, isSurge }: { id: string; environmentId: string; isSurge: boolean }) {
    if (this.#launching.has(id)) return
    this.#launching.add(id)
    this.#logger.log({ mediaNodeId: id }, 'repeating the launch of the media node')
    try {
      await this.launches.start({ id, environmentId, isSurge }).catch(() => undefined)
    } finally {
      this.#launching.delete(id)
    }
  }

  async #explain(id: string, statusReason: string | null): Promise<void> {
    const row = await this.repository.change((change) => this.repository.set(change, id, { statusReason }))
    if (!row) return
    this.mediaNodes.update(row)
    if (statusReason !== null)
      this.#logger.warn({ mediaNodeId: id }, `the media node is ${row.status}: ${statusReason}`)
  }

  #uses() {
    const draining = new Set(
      this.mediaNodes
        .rows()
        .filter((row) => isConnected(row) && row.status !== 'running')
        .map(({ id }) => id),
    )
    return this.mediaNodes.live().map(({ nodeId, rooms, jobs, status }) => ({
      id: nodeId,
      held: rooms + jobs.length,
      isDraining: status === 'draining' || draining.has(nodeId),
    }))
  }

  /** The same problem once: an outage of the environment would fill the log. */
  #report(error: unknown): void {
    const problem = String(error)
    if (problem !== this.#problem)
      this.#logger.warn({ err: error }, 'comparing media nodes with their environment failed')
    this.#problem = problem
  }
}

const idOf = (action: DrivenAction): string =>
  action.kind === 'launch' ? action.row.id : action.kind === 'drop' ? action.node.id : action.id
