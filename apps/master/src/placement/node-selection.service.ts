import { costOf, EXPECTED_SESSION, Placed, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { MASTER_ID } from '../platform/config/configuration.module.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { PlacementLedger } from './placement-ledger.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { RefusalLog } from './refusal-log.js'
import { type Refused, REFUSALS, selectNode } from './select-node.js'

const SESSION_COST = costOf(EXPECTED_SESSION)
/** Placed; withdrawn, since the node refused or another master placed the session first; no node available. */
const OUTCOMES = ['placed', 'withdrawn', 'none'] as const

/** Selects a media node for a session without one, by the load that all masters have placed. */
@Injectable()
export class NodeSelection implements OnApplicationShutdown {
  readonly #log = new RefusalLog(new Logger(NodeSelection.name))
  readonly #ledger = new PlacementLedger()
  readonly #subscription: BusSubscription
  readonly #placements = metrics.counter('placements_total', {
    help: 'Placements of sessions on media nodes, by outcome',
    labels: { outcome: OUTCOMES },
  })
  readonly #refusals = metrics.counter('placement_refusals_total', {
    help: 'Media nodes that could not host a session when no node was available, by reason',
    labels: { reason: REFUSALS },
  })

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    this.#subscription = bus.subscribe(SUBJECT.allPlaced, Placed, (placed) => this.#applyPlacement(placed))
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#subscription.stop()
  }

  /** Whether another node could host a session that this node rejects. */
  hasAlternative(nodeId: string): boolean {
    return this.mediaNodes.members().some((heartbeat) => heartbeat.nodeId !== nodeId && heartbeat.status === 'running')
  }

  /**
   * Selects a node for a new session and counts the placement at once.
   * @throws ServiceError NO_CAPACITY, with the reasons in its message
   */
  choose(forcedNodeId: string | undefined, refusedBefore: ReadonlySet<string>): NodeBoot {
    const now = performance.now()
    this.#updateLedger()
    const need = { cost: SESSION_COST, forcedNodeId, refusedBefore }
    const choice = selectNode(this.#ledger.nodes, need, now, Math.random)
    if (!choice.node) throw this.noCapacity(choice.refusals)
    const { nodeId, bootId } = choice.node
    this.#ledger.placed({ nodeId, bootId }, SESSION_COST, now)
    this.#placements.inc({ outcome: 'placed' })
    this.#publish({ nodeId, bootId })
    return { nodeId, bootId }
  }

  /** Removes a placement that did not take effect. */
  withdraw(node: NodeBoot): void {
    this.#ledger.withdrawn(node, SESSION_COST)
    this.#placements.inc({ outcome: 'withdrawn' })
  }

  #updateLedger(): void {
    this.#ledger.update(this.mediaNodes.members(), (nodeId) => this.mediaNodes.lastHeartbeatAt(nodeId))
  }

  /** Announces a placement to the other masters. A lost message only makes the distribution slightly worse. */
  #publish(node: NodeBoot): void {
    this.bus.publish(SUBJECT.placed(node.nodeId), Placed, { masterId: this.masterId, ...node, cost: SESSION_COST })
  }

  #applyPlacement({ masterId, cost, ...node }: Placed): void {
    if (masterId === this.masterId) return
    // Heartbeats first, so that the placement is added to them.
    this.#updateLedger()
    this.#ledger.placed(node, cost, performance.now())
  }

  /** The error of a session without a media node; counts and logs it. */
  noCapacity(refused: readonly Refused[]): ServiceError {
    this.#placements.inc({ outcome: 'none' })
    for (const { refusal } of refused) this.#refusals.inc({ reason: refusal })
    const reasons = refused.map(({ nodeId, refusal }) => `${nodeId} ${refusal}`).join(', ')
    this.#log.warn(`no media node available for a session: ${reasons || 'there is none'}`)
    return new ServiceError('NO_CAPACITY', `no media node available: ${summary(refused)}`)
  }
}

/** Counts by reason, without the ids of nodes, which clients must not see. */
function summary(refused: readonly Refused[]): string {
  const counts = REFUSALS.map((refusal) => ({
    refusal,
    count: refused.filter((each) => each.refusal === refusal).length,
  }))
  const reasons = counts.filter(({ count }) => count > 0).map(({ refusal, count }) => `${count} ${refusal}`)
  return reasons.join(', ') || 'there is none'
}
