import type { Heartbeat } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { backOffUntil } from '../media-nodes/flapping.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../media-nodes/media-node.repository.js'
import { NodeUsage } from '../media-nodes/node-usage.js'
import { MediaNodesService, type NodeHandler, NodeObserver } from '../media-nodes/media-nodes.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'
import { isForeign, type NodeReaction, nextNodeState } from '../media-nodes/node-state.js'
import { NodeReconciler } from './node-reconciler.service.js'
import { RegistrationBudget } from './registration-budget.js'

/** Heartbeats up to this long after a status change may have been sent before the command arrived, ms. */
const COMMAND_ARRIVAL_MS = 1_000

/**
 * Updates the rows of media nodes from their heartbeats. Every master receives all heartbeats: the row's lock ensures
 * that one of them writes the change and that each event is recorded once.
 */
@Injectable()
@NodeObserver()
export class NodeRegistration implements OnApplicationBootstrap, OnModuleDestroy, NodeHandler {
  readonly #logger = new Logger(NodeRegistration.name)
  readonly #deferrals = metrics.counter('media_node_registrations_deferred_total', {
    help: 'Registrations of unknown media nodes that the rate limit deferred',
  })
  readonly #budget = new RegistrationBudget(performance.now())
  readonly #pending = new Map<string, Promise<void>>()
  #isStopping = false

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly usage: NodeUsage,
    private readonly failures: NodeFailureHandler,
    private readonly reconciler: NodeReconciler,
    private readonly claims: NodeIdClaims,
    private readonly clock: ClusterClock,
  ) {}

  /** Completes the registrations of received heartbeats before this master serves. */
  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.#pending.values())
  }

  async onModuleDestroy(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#pending.values())
  }

  /** Registers a node that sends heartbeats. Undefined when it is registered already. */
  async admit(beat: Heartbeat, environmentId = beat.environmentId): Promise<MediaNodeRow | undefined> {
    const row = await this.repository.change(async (change) => {
      const present = await this.repository.lock(change, beat.nodeId)
      if (present && present.status !== 'terminated' && present.status !== 'failed') return undefined
      return this.#enter(change, { ...beat, environmentId })
    })
    if (row) this.mediaNodes.update(row)
    return row
  }

  onLost(node: Heartbeat): Promise<void> {
    return this.failures.handleSilent(node)
  }

  onHeartbeat(beat: Heartbeat): void {
    if (this.#isStopping || this.#pending.has(beat.nodeId)) return
    const reaction = nextNodeState(this.mediaNodes.row(beat.nodeId), beat)
    if (reaction === 'none') return
    if (!this.mediaNodes.row(beat.nodeId) && !this.#mayRegister(beat)) return
    const work = this.#react(beat, reaction)
      .catch((error: unknown) =>
        this.#logger.warn({ err: error, mediaNodeId: beat.nodeId }, 'updating the media node failed, will retry'),
      )
      .finally(() => this.#pending.delete(beat.nodeId))
    this.#pending.set(beat.nodeId, work)
  }

  /** A deferred node tries again with its next heartbeat. */
  #mayRegister({ nodeId }: Heartbeat): boolean {
    if (this.#budget.take(performance.now())) return true
    this.mediaNodes.defer(nodeId)
    this.#deferrals.inc({})
    return false
  }

  async #react(beat: Heartbeat, expected: NodeReaction): Promise<void> {
    // Before it gets new sessions, the node drops the rooms that were moved to other nodes.
    if (expected === 'recover') await this.#discardFormerRooms(beat)
    const row = await this.repository.change(async (change) => {
      const locked = await this.repository.lock(change, beat.nodeId)
      const reaction = nextNodeState(locked, beat)
      if (reaction === 'recover' && expected !== 'recover') return locked
      return this.#apply(change, reaction, locked, beat)
    })
    if (!row) return
    this.mediaNodes.update(row)
    if (isForeign(row, beat)) return this.claims.challenge(beat)
    // The row that this master had read was outdated: the heartbeat is valid.
    if (expected === 'foreign') this.mediaNodes.accept(beat)
    if (expected === 'register') await this.failures.loseRooms(beat.nodeId)
  }

  async #discardFormerRooms(beat: Heartbeat): Promise<void> {
    await this.failures.loseRooms(beat.nodeId)
    const left = await this.usage.lostRooms(beat.nodeId)
    if (left.length > 0) throw new Error(`${left.length} sessions have not been moved to other nodes yet`)
    await this.reconciler.reconcileNode(beat)
  }

  async #apply(
    change: NodeChange,
    reaction: NodeReaction,
    row: MediaNodeRow | undefined,
    beat: Heartbeat,
  ): Promise<MediaNodeRow | undefined> {
    if (reaction === 'register') return (await this.#enter(change, beat)) ?? this.repository.lock(change, beat.nodeId)
    if (!row) return undefined
    const now = this.clock.now()
    const boot = { ...nodeDetails(beat), bootId: beat.bootId }
    switch (reaction) {
      case 'finishLaunch':
        return this.repository.setStatus(change, row, 'running', {
          ...{ ...boot, ...connectedSince(row, now) },
          ...{ statusReason: null, launchDuration: Math.max(0, Math.round(now - row.launchingTime)) },
        })
      case 'endCanceled':
        return this.repository.setStatus(change, row, 'terminating', { ...boot, connectionTime: now })
      case 'recover':
        this.#logger.log({ mediaNodeId: row.id }, 'the media node has reconnected')
        return this.repository.recover(change, row, boot, now)
      case 'drain':
        if (row.statusAge < COMMAND_ARRIVAL_MS) return row
        return this.repository.setStatus(change, row, 'waiting-idle-to-terminate', {
          drainDeadline: beat.drainDeadline,
        })
      case 'updateDetails':
        return this.repository.set(change, row.id, { ...nodeDetails(beat), drainDeadline: beat.drainDeadline })
      default:
        return row
    }
  }

  async #enter(change: NodeChange, beat: Heartbeat): Promise<MediaNodeRow | undefined> {
    const now = this.clock.now()
    const entered = await this.repository.enter(change, {
      ...nodeDetails(beat),
      id: beat.nodeId,
      environmentId: beat.environmentId,
      launchingTime: beat.launchedAt || now,
    })
    // Another master has registered it first.
    if (!entered) return undefined
    return this.repository.setStatus(change, entered, 'running', {
      bootId: beat.bootId,
      ...connectedSince(entered, now),
    })
  }
}

const connectedSince = ({ crashCount }: MediaNodeRow, now: number) => ({
  connectionTime: now,
  backOffUntil: backOffUntil(crashCount, now),
})

const nodeDetails = ({ ip, uri, version, environmentId }: Heartbeat) => ({
  ip,
  uri,
  version,
  ...(environmentId !== '' && { environmentId }),
})
