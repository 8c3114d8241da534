import type { MediaNodeStatus } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import type { Queryable } from '../platform/database/sql.js'
import { Job, type JobRun } from '../platform/jobs/job.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { DrivenNodesService } from '../media-nodes/driven-nodes.service.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { type FleetNode, NodeFleet } from '../media-nodes/node-fleet.service.js'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { autoscalingEvent } from './autoscaling-event.js'
import { DecisionTimes } from './decision-times.js'
import { launchTimeOf } from './launch-time.js'
import { LoadAverages } from './load-averages.js'
import { NODE_DRIVER, type NodeDriver, type NodeLaunch } from '../media-nodes/driver/node-driver.js'
import { LaunchBackoff } from './launch-backoff.js'
import { type NodeRequest, NodeRequestRepository } from './node-request.repository.js'
import { plan } from './plan.js'
import {
  type Cluster,
  type Limits,
  NO_MEMORY,
  type Plan,
  type ScaledNode,
  type ScalingAction,
} from './scaling.types.js'

/** Verifies in a transaction that this master is still the leader; rejects when another one has taken over. */
type AssertLeader = (manager: Queryable) => Promise<void>

/** Samples from before a pause of more than this many intervals are dropped: the load between is unknown. */
const MEMORY_INTERVALS = 3

/** A master that becomes leader later than this, ms after its start, takes over a cluster and launches no first nodes. */
const START_MS = 60_000

const actionsTotal = metrics.counter('autoscaling_actions_total', {
  help: 'Autoscaling actions, by kind',
  labels: { kind: ['wake', 'relaunch', 'launch', 'cancel', 'drain', 'terminate'] },
})

const intervalMs = (config: MasterConfig): number => config.SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL * 1_000

/** Adjusts the number of media nodes to the load. The leader decides; each decision is one transaction. */
@Injectable()
export class AutoscalingService implements OnModuleDestroy {
  readonly #logger = new Logger(AutoscalingService.name)
  readonly #loads = new LoadAverages()
  /** Boots that drain and have rejected `undrain`. */
  readonly #notWakeable = new Set<string>()
  readonly #pending = new Set<Promise<void>>()
  readonly #backoff: LaunchBackoff
  /** Ids of nodes that this master launched and whose outcome is not known yet. */
  readonly #launching = new Set<string>()
  /** The outcomes of its launches since the last decision. */
  readonly #outcomes: MediaNodeStatus[] = []
  readonly #startedAt = performance.now()
  readonly #times = new DecisionTimes()
  #memory = NO_MEMORY
  #isAtStart = true

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly fleet: NodeFleet,
    private readonly requests: NodeRequestRepository,
    private readonly launches: NodeLaunchService,
    private readonly driven: DrivenNodesService,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#backoff = new LaunchBackoff(intervalMs(config))
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /**
   * Loads are averages of many heartbeats, since one of them reports a single moment. The row of a failed launch may be
   * deleted before the next decision.
   */
  @Job({ name: 'media node loads', scope: 'leader', everyMs: 0 })
  sample(): void {
    this.#noteOutcomes(this.mediaNodes.rows())
    for (const { bootId, cpuLoad } of this.mediaNodes.live()) this.#loads.add(bootId, cpuLoad)
  }

  @Job({ name: 'autoscaling', scope: 'leader', everyMs: intervalMs })
  async run({ now, assertLeader }: JobRun): Promise<void> {
    const isScaling = this.config.SERVICE_PRO_CLUSTER_AUTOSCALING
    const isLaunchingFirst = !isScaling && this.#isAtStart && this.driver.startsNodes
    if (!isScaling && !isLaunchingFirst && this.#launching.size === 0) return
    const fleet = await this.fleet.nodes()
    this.#updateBackoff(fleet, now)
    if (isScaling) await this.#scale(await this.#clusterOf(fleet, now), assertLeader)
    if (isLaunchingFirst) await this.#launchFirst(fleet, now, assertLeader)
    this.#isAtStart = false
  }

  async #scale(cluster: Cluster, assertLeader: AssertLeader): Promise<void> {
    const { now } = cluster
    const last = this.#memory.samples.at(-1)?.at ?? now
    if (now - last > MEMORY_INTERVALS * intervalMs(this.config)) this.#memory = NO_MEMORY
    const next = plan(cluster, this.#limits, this.#memory)
    // Nodes that the operator starts have no back-off.
    const mayLaunch = !this.driver.startsNodes || this.#backoff.mayLaunch(now)
    const actions = next.actions.filter((action) => mayLaunch || !isLaunch(action))
    const isDone = actions.length === 0 || (await this.#decide({ ...next, actions }, cluster, assertLeader))
    // A decision that was not carried out starts no cool-down.
    const { addedAt, removedAt } = isDone && actions.length > 0 ? next.memory : this.#memory
    this.#memory = { ...next.memory, addedAt, removedAt }
  }

  async #decide(next: Plan, cluster: Cluster, assertLeader: AssertLeader): Promise<boolean> {
    // The time from which the cool-down counts.
    const at = this.#times.next(cluster.now, this.clock.at(cluster.now))
    const event = autoscalingEvent(next, { ...cluster, now: at }, this.#limits, this.config.SERVICE_PRO_CLUSTER_ID)
    const launches = next.actions.filter(isLaunch)
    const launched = this.driver.startsNodes ? launches.map(() => this.fleet.newNode()) : []
    const requested = this.driver.startsNodes ? 0 : launches.length
    const withChange = (manager: Queryable): Promise<void> => this.#storeRequest(manager, requested, cluster)
    const statuses = next.actions.flatMap(statusAfter)
    if (!(await this.fleet.change({ event, statuses, entries: launched, assertLeader, withChange }))) {
      this.#logger.log('the media nodes changed during the autoscaling decision, will retry')
      return false
    }
    this.#logger.log(`${next.reason}: ${next.actions.map(describeAction).join(', ')}`)
    for (const { kind } of next.actions) actionsTotal.inc({ kind })
    for (const node of launched) this.#start(node)
    for (const action of next.actions) this.#sendCommand(action)
    return true
  }

  async #clusterOf(fleet: readonly FleetNode[], now: number): Promise<Cluster> {
    const nodes = this.#scaled(fleet)
    const request = this.driver.startsNodes ? undefined : await this.requests.last()
    return { now, nodes, inFlight: this.#inFlight(nodes, request) }
  }

  /** Nodes requested from the operator count as launching until they register or the cool-down is over. */
  #inFlight(nodes: readonly ScaledNode[], request: NodeRequest | undefined): number {
    if (!request || request.ageMs >= this.#limits.cooldownMs) return 0
    return Math.max(0, request.count - nodes.filter(({ id }) => !request.nodeIds.includes(id)).length)
  }

  async #storeRequest(manager: Queryable, count: number, { nodes, inFlight = 0 }: Cluster): Promise<void> {
    if (count === 0) return
    await this.requests.store(manager, { count: inFlight + count, nodeIds: nodes.map(({ id }) => id) })
  }

  /** Launches the configured number of nodes when the cluster starts. */
  async #launchFirst(fleet: readonly FleetNode[], now: number, assertLeader: AssertLeader): Promise<void> {
    if (now - this.#startedAt > START_MS) return
    const present = fleet.filter(({ row, beat }) => row.status === 'launching' || beat !== undefined).length
    const missing = Math.max(0, this.config.SERVICE_PRO_CLUSTER_MEDIA_NODES - present)
    const launched = Array.from({ length: missing }, () => this.fleet.newNode())
    if (missing === 0 || !(await this.fleet.change({ entries: launched, assertLeader }))) return
    for (const node of launched) this.#start(node)
  }

  #scaled(fleet: readonly FleetNode[]): ScaledNode[] {
    const loads = this.#loads.take()
    const sharing = this.#sharing(fleet)
    return fleet.flatMap(({ row, beat, sessions }) => {
      const isLaunching = row.status === 'launching' || row.status === 'canceled'
      if (!isLaunching && !beat) return []
      // It replaces an outdated node, which is counted until then.
      if (row.isSurge && (isLaunching || row.status === 'running')) return []
      const isOutdated = this.driven.of(row.id)?.isOutdated ?? false
      const isLeaving = this.#notWakeable.has(row.bootId ?? '') || (beat?.drainDeadline ?? null) !== null
      return {
        ...{ id: row.id, environmentId: row.environmentId, ip: row.ip, status: row.status },
        load: isLaunching ? 0 : rounded((loads.get(row.bootId ?? '') ?? beat?.cpuLoad ?? 0) / sharing(row.id)),
        held: Math.max(sessions, beat?.rooms ?? 0),
        launchingTime: row.launchingTime,
        canWake: !isLeaving && !isOutdated,
        isOutdated,
      }
    })
  }

  /** The number of nodes that report the load of the machine of a node. */
  #sharing(fleet: readonly FleetNode[]): (id: string) => number {
    const alive = fleet.filter(({ beat }) => beat)
    if (this.driver.sharesMachine) return () => alive.length
    const machines = Map.groupBy(alive, ({ row }) => this.driven.of(row.id)?.machine)
    return (id) => machines.get(this.driven.of(id)?.machine ?? '')?.length ?? 1
  }

  #sendCommand(action: ScalingAction): void {
    if (action.kind === 'drain' || action.kind === 'terminate') this.#command(action.node.id, 'drain')
    if (action.kind === 'wake') this.#command(action.node.id, 'undrain')
  }

  #start(node: NodeLaunch): void {
    this.#launching.add(node.id)
    // NodeLaunchService records a failure in the row.
    this.#track(this.launches.start(node).catch(() => undefined))
  }

  /** Applies the outcome of completed launches to the back-off. */
  #updateBackoff(fleet: readonly FleetNode[], now: number): void {
    const rows = fleet.map(({ row }) => row)
    this.#noteOutcomes(rows)
    const ids = new Set(rows.map(({ id }) => id))
    for (const id of this.#launching) if (!ids.has(id)) this.#launching.delete(id)
    this.#backoff.ended(this.#outcomes.splice(0), now)
  }

  #noteOutcomes(rows: readonly Pick<FleetNode['row'], 'id' | 'status'>[]): void {
    for (const { id, status } of rows) {
      const isOver = status !== 'launching' && status !== 'canceled'
      if (isOver && this.#launching.delete(id)) this.#outcomes.push(status)
    }
  }

  /**
   * Drains also empty nodes instead of ending them: a session that was placed on one meanwhile is not cut, and a node
   * without sessions ends at once.
   */
  #command(nodeId: string, command: 'drain' | 'undrain'): void {
    const bootId = this.mediaNodes.lastHeartbeat(nodeId)?.bootId
    const request =
      command === 'drain'
        ? this.nodeCommands.request({ nodeId }, command, { deadlineMs: null })
        : this.nodeCommands.request({ nodeId }, command, {})
    const completed = request.catch((error: unknown) => {
      if (command === 'undrain' && bootId !== undefined) this.#notWakeable.add(bootId)
      this.#logger.warn({ err: error, mediaNodeId: nodeId }, `sending ${command} to the media node failed`)
    })
    this.#track(completed)
  }

  /** Shutdown waits for `work`. */
  #track(work: Promise<unknown>): void {
    const tracked = work.then(() => void this.#pending.delete(tracked))
    this.#pending.add(tracked)
  }

  get #limits(): Limits {
    const { config } = this
    return {
      minNodes: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES,
      maxNodes: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES,
      minLoad: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD,
      maxLoad: config.SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD,
      cooldownMs: config.SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN * 1_000,
      bootMs: launchTimeOf(this.mediaNodes.rows(), config),
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

const describeAction = (action: ScalingAction): string =>
  action.kind === 'launch' ? action.kind : `${action.kind} ${action.node.id}`
