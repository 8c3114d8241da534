import type { Heartbeat } from '@session-service/contract'
import type { NodeBoot } from '../media-nodes/room-place.js'
import type { Candidate } from './select-node.js'

/** The part of a heartbeat that the ledger uses. */
export type Report = Pick<
  Heartbeat,
  'nodeId' | 'bootId' | 'sentAt' | 'everyMs' | 'status' | 'workers' | 'cpuLoad' | 'committed' | 'roomsOpened'
> &
  Pick<Candidate, 'isBackedOff'>

interface Placement {
  /** Percent of one core. */
  cost: number
  at: number
}

/** A placement that no heartbeat shows after this long did not open a room, ms. */
const PENDING_MS = 2_000

/** Weight of one heartbeat in the moving average of the excess load. Like the CPU load, it covers about 5 s. */
const EXCESS_SHARE = 0.1

const committedShare = ({ committed, workers }: Report): number => committed / Math.max(workers, 1)
const excessOf = (report: Report): number => report.cpuLoad - committedShare(report)

/** One node: its last heartbeat and the placements since. */
class Account implements Candidate {
  readonly nodeId: string
  readonly bootId: string
  status: Report['status']
  isBackedOff: boolean
  workers: number
  everyMs: number
  load: number
  pending = 0
  #excess: number
  #sentAt: number
  #roomsOpened: number
  /** Oldest first. */
  #placements: Placement[] = []

  constructor(
    report: Report,
    public lastHeartbeatAt: number,
  ) {
    this.nodeId = report.nodeId
    this.bootId = report.bootId
    this.status = report.status
    this.isBackedOff = report.isBackedOff ?? false
    this.workers = report.workers
    this.everyMs = report.everyMs
    this.#excess = excessOf(report)
    this.load = this.#loadOf(report)
    this.#sentAt = report.sentAt
    this.#roomsOpened = report.roomsOpened
  }

  take(report: Report, lastHeartbeatAt: number): void {
    this.lastHeartbeatAt = lastHeartbeatAt
    // The master changes these between two heartbeats too.
    this.status = report.status
    this.isBackedOff = report.isBackedOff ?? false
    if (report.sentAt === this.#sentAt) return
    // Rooms open in the order of their placement, apart from some milliseconds.
    const opened = Math.max(report.roomsOpened - this.#roomsOpened, 0)
    this.#placements = this.#placements.slice(opened).filter(({ at }) => lastHeartbeatAt - at < PENDING_MS)
    this.#sentAt = report.sentAt
    this.#roomsOpened = report.roomsOpened
    this.workers = report.workers
    this.everyMs = report.everyMs
    this.#excess += EXCESS_SHARE * (excessOf(report) - this.#excess)
    this.load = this.#loadOf(report)
    this.#sum()
  }

  add(placement: Placement): void {
    this.#placements.push(placement)
    this.#sum()
  }

  /** Removes the latest placement of this cost. */
  withdraw(cost: number): void {
    const index = this.#placements.findLastIndex((placement) => placement.cost === cost)
    if (index >= 0) this.#placements.splice(index, 1)
    this.#sum()
  }

  /**
   * Committed cost plus the excess of the CPU load over it: costs are estimated high, but the machine may do other work
   * too. The excess is a moving average, since recently committed cost is not in the CPU load yet.
   */
  #loadOf(report: Report): number {
    return committedShare(report) + Math.max(this.#excess, 0)
  }

  #sum(): void {
    let cost = 0
    for (const placement of this.#placements) cost += placement.cost
    this.pending = cost / Math.max(this.workers, 1)
  }
}

/**
 * The load of each node by its last heartbeat, plus the placements of all masters since. Heartbeats are half a second
 * apart: without the ledger, a burst of sessions would go to the node with the lowest load before the burst. All times
 * are of one clock, ms.
 */
export class PlacementLedger {
  readonly #accounts = new Map<string, Account>()
  #nodes: readonly Account[] = []

  /** The candidates of `selectNode`. */
  get nodes(): readonly Candidate[] {
    return this.#nodes
  }

  /** Replaces the set of nodes and applies their last heartbeats. A heartbeat that was applied before has no effect. */
  update(reports: readonly Report[], lastHeartbeatAt: (nodeId: string) => number): void {
    for (const report of reports) this.updateNode(report, lastHeartbeatAt(report.nodeId))
    if (reports.length === this.#nodes.length) return
    const present = new Set(reports.map(({ nodeId }) => nodeId))
    for (const nodeId of this.#accounts.keys()) if (!present.has(nodeId)) this.#accounts.delete(nodeId)
    this.#nodes = [...this.#accounts.values()]
  }

  updateNode(report: Report, lastHeartbeatAt: number): void {
    const account = this.#accounts.get(report.nodeId)
    if (account?.bootId === report.bootId) return account.take(report, lastHeartbeatAt)
    // Placements of an older boot ended with it.
    this.#accounts.set(report.nodeId, new Account(report, lastHeartbeatAt))
    this.#nodes = [...this.#accounts.values()]
  }

  placed(node: NodeBoot, cost: number, at: number): void {
    this.#account(node)?.add({ cost, at })
  }

  withdrawn(node: NodeBoot, cost: number): void {
    this.#account(node)?.withdraw(cost)
  }

  #account({ nodeId, bootId }: NodeBoot): Account | undefined {
    const account = this.#accounts.get(nodeId)
    return account?.bootId === bootId ? account : undefined
  }
}
