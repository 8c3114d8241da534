import { costOf, EXPECTED_SESSION, Placed, ServiceError, SUBJECT } from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common'
import { MASTER_ID } from '../platform/config/configuration.module.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { PlacementLedger } from './placement-ledger.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { type Refused, REFUSALS, selectNode } from './select-node.js'

const SESSION_COST = costOf(EXPECTED_SESSION)
/** Placed; placed in vain, since the node refused or another master's choice held; no node could take it. */
const OUTCOMES = ['placed', 'withdrawn', 'none'] as const

/** Chooses among the media nodes for a session that has none. */
@Injectable()
export class NodeSelection implements OnApplicationShutdown {
  private readonly logger = new Logger(NodeSelection.name)
  private readonly ledger = new PlacementLedger()
  private readonly subscription: BusSubscription
  private readonly placements = metrics.counter('placements_total', {
    help: 'Choices of a media node for a session',
    labels: { outcome: OUTCOMES },
  })
  private readonly refusals = metrics.counter('placement_refusals_total', {
    help: 'Why media nodes were passed over where no node could take a session',
    labels: { reason: REFUSALS },
  })

  constructor(
    private readonly bus: Bus,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    this.subscription = bus.subscribe(SUBJECT.allPlaced, Placed, (placed) => this.learn(placed))
  }

  async onApplicationShutdown(): Promise<void> {
    await this.subscription.stop()
  }

  /** Whether a session that this node does not take could go elsewhere. */
  hasAlternative(nodeId: string): boolean {
    return this.mediaNodes.members().some((heartbeat) => heartbeat.nodeId !== nodeId && heartbeat.status === 'running')
  }

  /** Chooses a node for a new session and counts the choice at once. NO_CAPACITY tells why there is none. */
  choose(forcedNodeId: string | undefined, refusedBefore: ReadonlySet<string>): NodeBoot {
    const now = performance.now()
    this.hear()
    const need = { cost: SESSION_COST, forcedNodeId, refusedBefore }
    const choice = selectNode(this.ledger.nodes, need, now, Math.random)
    if (!choice.node) throw this.none(choice.refusals)
    const { nodeId, bootId } = choice.node
    this.ledger.placed({ nodeId, bootId }, SESSION_COST, now)
    this.placements.inc({ outcome: 'placed' })
    this.tell({ nodeId, bootId })
    return { nodeId, bootId }
  }

  /** The session did not go there after all. */
  withdraw(node: NodeBoot): void {
    this.ledger.withdrawn(node, SESSION_COST)
    this.placements.inc({ outcome: 'withdrawn' })
  }

  private hear(): void {
    this.ledger.hear(this.mediaNodes.members(), (nodeId) => this.mediaNodes.heardAt(nodeId))
  }

  /** What is not heard makes the spread a little worse and nothing else. */
  private tell(node: NodeBoot): void {
    this.bus.publish(SUBJECT.placed(node.nodeId), Placed, { masterId: this.masterId, ...node, cost: SESSION_COST })
  }

  private learn({ masterId, cost, ...node }: Placed): void {
    if (masterId === this.masterId) return
    // First what the node has told, so that this counts on top of it.
    this.hear()
    this.ledger.placed(node, cost, performance.now())
  }

  private none(refused: readonly Refused[]): ServiceError {
    this.placements.inc({ outcome: 'none' })
    for (const { refusal } of refused) this.refusals.inc({ reason: refusal })
    const why = refused.map(({ nodeId, refusal }) => `${nodeId} ${refusal}`).join(', ')
    this.logger.warn(`no media node for a session: ${why || 'none is there'}`)
    return new ServiceError('NO_CAPACITY', `no media node can host the session now: ${summary(refused)}`)
  }
}

/** Without the ids, which are nobody's business outside. */
function summary(refused: readonly Refused[]): string {
  const counts = REFUSALS.map((refusal) => ({
    refusal,
    count: refused.filter((each) => each.refusal === refusal).length,
  }))
  const told = counts.filter(({ count }) => count > 0).map(({ refusal, count }) => `${count} ${refusal}`)
  return told.join(', ') || 'none is there'
}
