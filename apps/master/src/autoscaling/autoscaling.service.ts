import { MediaNodeStatus } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import type { Manager } from '../events/event-log.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { type FleetNode, NodeFleet } from '../media-nodes/node-fleet.service.js'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { autoscalingEvent } from './autoscaling-event.js'
import { LoadAverages } from './load-averages.js'
import { NODE_DRIVER, type NodeDriver, type NodeLaunch } from '../media-nodes/drivers/node-driver.js'
import { LaunchPatience } from './launch-patience.js'
import { plan } from './plan.js'
import {
  type Cluster,
  type Limits,
  NO_MEMORY,
  type Plan,
  type ScaledNode,
  type ScalingAction,
} from './scaling.types.js'

/** Proves in a transaction that whoever asks still has the duties; rejects when another has taken over. */
export type Permission = (manager: Manager) => Promise<void>

/** What was seen before a pause as long as so many intervals tells nothing of the trend, nor that a load was low since. */
const MEMORY_INTERVALS = 3

/** A master that gets the duties later than this does not start the cluster, but takes it over. */
const START_MS = 60_000

const decided = metrics.counter('autoscaling_actions_total', {
  help: 'Media nodes that autoscaling decided to change, by what becomes of them',
  labels: { kind: ['wake', 'relaunch', 'launch', 'cancel', 'drain', 'terminate'] },
})

const nodesBy = metrics.gauge('cluster_media_nodes', {
  help: 'Media nodes of the cluster by status',
  labels: { status: MediaNodeStatus.options },
})

const intervalMs = (config: MasterConfig): number => config.SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL * 1_000

/** Keeps as many media nodes as the load wants. One master decides for all; each decision is one transaction. */
@Injectable()
export class AutoscalingService implements OnModuleDestroy {
  readonly #logger = new Logger(AutoscalingService.name)
  readonly #loads = new LoadAverages()
  /** Boots that are on their way out and would not come back. */
  readonly #leavingForGood = new Set<string>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #patience: LaunchPatience
  /** Launched here, and what came of it is not known yet. */
  readonly #begun = new Set<string>()
  readonly #startedAt = performance.now()
  #memory = NO_MEMORY
  #isAtStart = true
  /** Nodes that the operator was asked for, and those that there were then. */
  #asked: { count: number; at: number; ids: ReadonlySet<string> } | undefined

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly fleet: NodeFleet,
    private readonly launches: NodeLaunchService,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#patience = new LaunchPatience(intervalMs(config))
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** A heartbeat shows one moment: loads are averages of many. */
  @Job({ name: 'media node loads', scope: 'leader', everyMs: 0 })
  sample(): void {
    for (const { bootId, cpuLoad } of this.mediaNodes.live()) this.#loads.add(bootId, cpuLoad)
  }

  @Job({ name: 'media node figures', scope: 'every master', everyMs: 0 })
  showFigures(): void {
    const rows = this.mediaNodes.rows()
    for (const status of MediaNodeStatus.options)
      nodesBy.set({ status }, rows.filter((row) => row.status === status).length)
  }

  @Job({ name: 'autoscaling', scope: 'leader', everyMs: intervalMs })
  async run({ now, assertLeader: permission }: JobRun): Promise<void> {
    const fleet = await this.fleet.nodes()
    this.#review(fleet, now)
    if (this.config.SERVICE_PRO_CLUSTER_AUTOSCALING) await this.#scale(this.#clusterOf(fleet, now), permission)
    else if (this.#isAtStart && this.driver.startsNodes) await this.#begin(fleet, now, permission)
    this.#isAtStart = false
  }

  async #scale(cluster: Cluster, permission: Permission): Promise<void> {
    const { now } = cluster
    const last = this.#memory.samples.at(-1)?.at ?? now
    if (now - last > MEMORY_INTERVALS * intervalMs(this.config)) this.#memory = NO_MEMORY
    const next = plan(cluster, this.#limits, this.#memory)
    const launches = next.actions.filter(isLaunch).length
    const mayLaunch = this.#mayLaunch(launches, cluster)
    const actions = next.actions.filter((action) => mayLaunch || !isLaunch(action))
    const isDone = actions.length === 0 || (await this.#decide({ ...next, actions }, cluster, permission))
    // What came to nothing was no change.
    const { addedAt, removedAt } = isDone && actions.length > 0 ? next.memory : this.#memory
    this.#memory = { ...next.memory, addedAt, removedAt }
  }

  async #decide(next: Plan, cluster: Cluster, permission: Permission): Promise<boolean> {
    const event = autoscalingEvent(
      next,
      { ...cluster, now: this.clock.now() },
      this.#limits,
      this.config.SERVICE_PRO_CLUSTER_ID,
    )
    const launched = next.actions
      .filter((action) => isLaunch(action) && this.driver.startsNodes)
      .map(() => this.fleet.newNode())
    const statuses = next.actions.flatMap(statusAfter)
    if (!(await this.fleet.change({ event, statuses, entries: launched, permission }))) {
      this.#logger.log('the media nodes have changed meanwhile: autoscaling decides anew')
      return false
    }
    this.#logger.log(`${next.reason}: ${next.actions.map(inWords).join(', ')}`)
    for (const { kind } of next.actions) decided.inc({ kind })
    for (const node of launched) this.#start(node)
    for (const action of next.actions) this.#tell(action)
    return true
  }

  #clusterOf(fleet: readonly FleetNode[], now: number): Cluster {
    const nodes = this.#scaled(fleet)
    return { now, nodes, inFlight: this.#inFlight(nodes, now) }
  }

  /** What the operator was asked for counts as coming until it is there, or has been waited for long enough. */
  #inFlight(nodes: readonly ScaledNode[], now: number): number {
    const asked = this.#asked
    if (!asked || now - asked.at >= this.#limits.cooldownMs) return 0
    return Math.max(0, asked.count - nodes.filter(({ id }) => !asked.ids.has(id)).length)
  }

  /** A driver that fails is given time. */
  #mayLaunch(count: number, { now, nodes, inFlight = 0 }: Cluster): boolean {
    if (count === 0) return true
    if (this.driver.startsNodes) return this.#patience.mayLaunch(now)
    this.#asked = { count: inFlight + count, at: now, ids: new Set(nodes.map(({ id }) => id)) }
    return true
  }

  /** The nodes that there shall be when the cluster starts. */
  async #begin(fleet: readonly FleetNode[], now: number, permission: Permission): Promise<void> {
    if (now - this.#startedAt > START_MS) return
    const there = fleet.filter(({ row, beat }) => row.status === 'launching' || beat !== undefined).length
    const lacking = Math.max(0, this.config.SERVICE_PRO_CLUSTER_MEDIA_NODES - there)
    const launched = Array.from({ length: lacking }, () => this.fleet.newNode())
    if (lacking === 0 || !(await this.fleet.change({ entries: launched, permission }))) return
    for (const node of launched) this.#start(node)
  }

  #scaled(fleet: readonly FleetNode[]): ScaledNode[] {
    const loads = this.#loads.take()
    const sharing = this.driver.sharesMachine ? fleet.filter(({ beat }) => beat).length : 1
    return fleet.flatMap(({ row, beat, sessions }) => {
      const isComing = row.status === 'launching' || row.status === 'canceled'
      if (!isComing && !beat) return []
      const isLeaving = this.#leavingForGood.has(row.bootId ?? '') || (beat?.drainDeadline ?? null) !== null
      return {
        ...{ id: row.id, environmentId: row.environmentId, ip: row.ip, status: row.status },
        load: isComing ? 0 : rounded((loads.get(row.bootId ?? '') ?? beat?.cpuLoad ?? 0) / sharing),
        held: Math.max(sessions, beat?.rooms ?? 0),
        launchingTime: row.launchingTime,
        canWake: !isLeaving,
      }
    })
  }

  #tell(action: ScalingAction): void {
    if (action.kind === 'drain' || action.kind === 'terminate') this.#order(action.node.id, 'drain')
    if (action.kind === 'wake') this.#order(action.node.id, 'undrain')
  }

  #start(node: NodeLaunch): void {
    this.#begun.add(node.id)
    // What fails shows in the row.
    this.#follow(this.launches.start(node).catch(() => undefined))
  }

  /** What has come of the launches since. */
  #review(fleet: readonly FleetNode[], now: number): void {
    const statuses = new Map(fleet.map(({ row }) => [row.id, row.status]))
    for (const id of this.#begun) {
      const status = statuses.get(id)
      if (status === 'launching' || status === 'canceled') continue
      this.#begun.delete(id)
      if (status === 'failed') this.#patience.failed(now)
      if (status === 'running') this.#patience.succeeded()
    }
  }

  /**
   * Nodes are only ever drained, also empty ones: a session that has come in meanwhile is not cut, and a node without
   * sessions ends at once.
   */
  #order(nodeId: string, command: 'drain' | 'undrain'): void {
    const bootId = this.mediaNodes.heard(nodeId)?.bootId
    const asked =
      command === 'drain'
        ? this.mediaNodes.request({ nodeId }, command, { deadlineMs: null })
        : this.mediaNodes.request({ nodeId }, command, {})
    const told = asked.catch((error: unknown) => {
      if (command === 'undrain' && bootId !== undefined) this.#leavingForGood.add(bootId)
      this.#logger.warn(`media node ${nodeId} did not carry out ${command}: ${String(error)}`)
    })
    this.#follow(told)
  }

  /** What is under way when this master ends is finished first. */
  #follow(work: Promise<unknown>): void {
    const followed = work.then(() => void this.#underWay.delete(followed))
    this.#underWay.add(followed)
  }

  get #limits(): Limits {
    const { config } = this
    return {
      minNodes: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES,
      maxNodes: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES,
      minLoad: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD,
      maxLoad: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD,
      cooldownMs: config.SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN * 1_000,
      bootMs: config.SERVICE_PRO_CLUSTER_LAUNCH_TIME * 1_000,
    }
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100

const STATUS_AFTER = {
  wake: 'running',
  relaunch: 'launching',
  cancel: 'canceled',
  drain: 'waiting-idle-to-terminate',
  terminate: 'terminating',
} as const

const isLaunch = ({ kind }: ScalingAction): boolean => kind === 'launch'

const statusAfter = (action: ScalingAction) =>
  action.kind === 'launch'
    ? []
    : [{ id: action.node.id, status: STATUS_AFTER[action.kind], ifEmpty: action.kind === 'terminate' }]

const inWords = (action: ScalingAction): string =>
  action.kind === 'launch' ? action.kind : `${action.kind} ${action.node.id}`
