import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { DrivenNodesService } from '../media-nodes/driven-nodes.service.js'
import { NODE_DRIVER, type NodeDriver, type NodeLaunch } from '../media-nodes/driver/node-driver.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { type FleetChange, type FleetNode, NodeFleet } from '../media-nodes/node-fleet.service.js'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { LaunchBackoff } from './launch-backoff.js'
import { type RollAction, type RolledNode, rollPlan } from './roll-plan.js'

const EVERY_MS = 1_000

/** Replaces media nodes that are not what the driver would start now, without interrupting sessions. */
@Injectable()
export class NodeRollService implements OnModuleDestroy {
  readonly #logger = new Logger(NodeRollService.name)
  readonly #pending = new Set<Promise<unknown>>()
  readonly #backoff: LaunchBackoff
  #surge: string | undefined

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly driven: DrivenNodesService,
    private readonly fleet: NodeFleet,
    private readonly launches: NodeLaunchService,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) config: MasterConfig,
  ) {
    this.#backoff = new LaunchBackoff(config.SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL * 1_000)
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#pending)
  }

  @Job({ name: 'roll of media nodes', scope: 'leader', everyMs: EVERY_MS })
  async run({ now, assertLeader }: JobRun): Promise<void> {
    if (!this.driver.nodes || !this.driver.startsNodes) return
    // Without outdated nodes there is nothing to read.
    const isNeeded = this.mediaNodes.rows().some(({ id, isSurge }) => isSurge || this.driven.of(id)?.isOutdated)
    if (!isNeeded) return
    const fleet = await this.fleet.nodes()
    this.#updateBackoff(fleet, now)
    const nodes = fleet.map((node) => this.#rolled(node))
    for (const action of rollPlan(nodes, { mayLaunch: this.#backoff.mayLaunch(now) }))
      await this.#apply(action, assertLeader)
  }

  async #apply(action: RollAction, assertLeader: FleetChange['assertLeader']): Promise<void> {
    switch (action.kind) {
      case 'surge': {
        const node = { ...this.fleet.newNode(), isSurge: true }
        if (!(await this.#change({ entries: [node], assertLeader }))) return
        this.#logger.log({ mediaNodeId: node.id }, 'launching a media node to replace an outdated one')
        this.#surge = node.id
        return this.#start(node)
      }
      case 'replace': {
        const { surge, node } = action
        const statuses = [{ id: node, status: 'waiting-idle-to-terminate' as const }]
        if (!(await this.#change({ statuses, permanent: [surge], assertLeader }))) return
        this.#logger.log({ mediaNodeId: node, replacement: surge }, 'draining the outdated media node')
        return this.#drain(node)
      }
      case 'keep':
        await this.#change({ permanent: [action.surge], assertLeader })
        return
      case 'bound':
        return this.#drain(action.node)
    }
  }

  async #change(change: FleetChange): Promise<boolean> {
    if (await this.fleet.change(change)) return true
    this.#logger.log('the media nodes changed during the decision about a roll, will retry')
    return false
  }

  #rolled({ row, beat, sessions }: FleetNode): RolledNode {
    return {
      ...{ id: row.id, status: row.status, isSurge: row.isSurge },
      isConnected: beat !== undefined,
      isOutdated: this.driven.of(row.id)?.isOutdated ?? false,
      held: Math.max(sessions, beat?.rooms ?? 0),
      load: beat?.cpuLoad ?? 0,
      hasDrainDeadline: (beat?.drainDeadline ?? row.drainDeadline) !== null,
    }
  }

  /** Sessions that remain at the deadline move to other nodes: a roll ends. */
  #drain(nodeId: string): void {
    const deadlineMs = this.driven.of(nodeId)?.drainMs ?? null
    this.#track(this.nodeCommands.notify({ nodeId }, 'drain', { deadlineMs }))
  }

  #start(node: NodeLaunch): void {
    // NodeLaunchService records a failure in the row.
    this.#track(this.launches.start(node).catch(() => undefined))
  }

  #updateBackoff(fleet: readonly FleetNode[], now: number): void {
    const status = fleet.find(({ row }) => row.id === this.#surge)?.row.status
    if (this.#surge === undefined || status === 'launching') return
    this.#backoff.ended([status === 'running' ? 'running' : 'failed'], now)
    this.#surge = undefined
  }

  /** Shutdown waits for `work`. */
  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => void this.#pending.delete(tracked))
    this.#pending.add(tracked)
  }
}
