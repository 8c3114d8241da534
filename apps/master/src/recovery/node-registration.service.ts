import type { Heartbeat } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { backOffUntil } from '../media-nodes/flapping.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from '../media-nodes/media-node.repository.js'
import { MediaNodesService, type NodeHandler, NodeObserver } from '../media-nodes/media-nodes.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'
import { isForeign, type NodeReaction, nextNodeState } from '../media-nodes/node-state.js'
import { NodeReconciler } from './node-reconciler.service.js'
import { RegistrationBudget } from './registration-budget.js'

/** What a node said just before an order reached it tells nothing of the order, ms. */
const ORDER_SETTLES_MS = 1_000

/**
 * Keeps the rows of the media nodes true to what the nodes say. Every master hears the same: the row's lock decides who
 * writes it down, and so each event is recorded once.
 */
@Injectable()
@NodeObserver()
export class NodeRegistration implements OnApplicationBootstrap, OnModuleDestroy, NodeHandler {
  private readonly logger = new Logger(NodeRegistration.name)
  private readonly deferrals = metrics.counter('media_node_registrations_deferred_total', {
    help: 'Attempts to register an unknown media node that had to wait',
  })
  private readonly budget = new RegistrationBudget(performance.now())
  private readonly underWay = new Map<string, Promise<void>>()
  private isStopping = false

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly loss: NodeFailureHandler,
    private readonly watch: NodeReconciler,
    private readonly claims: NodeIdClaims,
    private readonly clock: ClusterClock,
  ) {}

  /** What was heard by now is written down before this master serves. */
  async onApplicationBootstrap(): Promise<void> {
    await Promise.all(this.underWay.values())
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    await Promise.all(this.underWay.values())
  }

  /** Makes a node that is heard a member of the cluster; undefined when it is one. */
  async admit(beat: Heartbeat, environmentId = beat.environmentId): Promise<MediaNodeRow | undefined> {
    const row = await this.repository.change(async (change) => {
      const present = await this.repository.lock(change, beat.nodeId)
      if (present && present.status !== 'terminated' && present.status !== 'failed') return undefined
      return this.enter(change, { ...beat, environmentId })
    })
    if (row) this.mediaNodes.learn(row)
    return row
  }

  lost(node: Heartbeat): Promise<void> {
    return this.loss.silent(node)
  }

  heard(beat: Heartbeat): void {
    if (this.isStopping || this.underWay.has(beat.nodeId)) return
    const reaction = nextNodeState(this.mediaNodes.row(beat.nodeId), beat)
    if (reaction === 'none') return
    if (!this.mediaNodes.row(beat.nodeId) && !this.mayRegister(beat)) return
    const work = this.react(beat, reaction)
      .catch((error: unknown) => this.logger.warn({ err: error }, `media node ${beat.nodeId} could not be registered`))
      .finally(() => this.underWay.delete(beat.nodeId))
    this.underWay.set(beat.nodeId, work)
  }

  /** A node that has to wait is heard again with its next heartbeat. */
  private mayRegister({ nodeId }: Heartbeat): boolean {
    if (this.budget.take(performance.now())) return true
    this.mediaNodes.defer(nodeId)
    this.deferrals.inc({})
    return false
  }

  private async react(beat: Heartbeat, expected: NodeReaction): Promise<void> {
    // Before it is given anything new it lets go of what has been moved away from it.
    if (expected === 'recover') await this.discardFormerRooms(beat)
    const row = await this.repository.change(async (change) => {
      const locked = await this.repository.lock(change, beat.nodeId)
      const reaction = nextNodeState(locked, beat)
      if (reaction === 'recover' && expected !== 'recover') return locked
      return this.apply(change, reaction, locked, beat)
    })
    if (!row) return
    this.mediaNodes.learn(row)
    if (isForeign(row, beat)) return this.claims.challenge(beat)
    // What this master knew of the row was old: the heartbeat counts after all.
    if (expected === 'foreign') this.mediaNodes.accept(beat)
    if (expected === 'enter') await this.loss.loseRooms(beat.nodeId)
  }

  private async discardFormerRooms(beat: Heartbeat): Promise<void> {
    await this.loss.loseRooms(beat.nodeId)
    const left = await this.repository.lostRooms(beat.nodeId)
    if (left.length > 0) throw new Error(`${left.length} sessions have not been moved away from it yet`)
    await this.watch.reconcileNode(beat)
  }

  private async apply(
    change: NodeChange,
    reaction: NodeReaction,
    row: MediaNodeRow | undefined,
    beat: Heartbeat,
  ): Promise<MediaNodeRow | undefined> {
    if (reaction === 'enter') return (await this.enter(change, beat)) ?? this.repository.lock(change, beat.nodeId)
    if (!row) return undefined
    const now = this.clock.now()
    const boot = { ...ofItself(beat), bootId: beat.bootId }
    switch (reaction) {
      case 'arrive':
        return this.repository.setStatus(change, row, 'running', { ...boot, ...connectedSince(row, now) })
      case 'rollbackJoin':
        return this.repository.setStatus(change, row, 'terminating', { ...boot, connectionTime: now })
      case 'recover':
        this.logger.log(`media node ${row.id} is back`)
        return this.repository.recover(change, row, boot, now)
      case 'quarantine':
        if (row.statusAge < ORDER_SETTLES_MS) return row
        return this.repository.setStatus(change, row, 'waiting-idle-to-terminate', {
          drainDeadline: beat.drainDeadline,
        })
      case 'note':
        return this.repository.set(change, row.id, { ...ofItself(beat), drainDeadline: beat.drainDeadline })
      default:
        return row
    }
  }

  private async enter(change: NodeChange, beat: Heartbeat): Promise<MediaNodeRow | undefined> {
    const now = this.clock.now()
    const entered = await this.repository.enter(change, {
      ...ofItself(beat),
      id: beat.nodeId,
      environmentId: beat.environmentId,
      launchingTime: beat.launchedAt || now,
    })
    // Another master was quicker.
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

const ofItself = ({ ip, uri, version, environmentId }: Heartbeat) => ({
  ip,
  uri,
  version,
  ...(environmentId !== '' && { environmentId }),
})
