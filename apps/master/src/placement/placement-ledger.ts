import type { Heartbeat } from '@session-service/contract'
import type { NodeBoot } from '../media-nodes/room-place.js'
import type { Candidate } from './select-node.js'

/** What the ledger reads of a heartbeat. */
export type Report = Pick<
  Heartbeat,
  'nodeId' | 'bootId' | 'sentAt' | 'status' | 'workers' | 'cpuLoad' | 'committed' | 'roomsOpened'
> &
  Pick<Candidate, 'isBackedOff'>

interface Placement {
  /** Percent of one core. */
  cost: number
  at: number
}

/** What was placed and shows in no heartbeat after this long has not become a room, ms. */
const PENDING_MS = 2_000

/** A heartbeat's share in the mean of what is used beyond the prices: like the processors' load it covers some 5 s. */
const EXCESS_SHARE = 0.1

const committedShare = ({ committed, workers }: Report): number => committed / Math.max(workers, 1)
const excessOf = (report: Report): number => report.cpuLoad - committedShare(report)

/** One node: its last report, and what has been placed there since. */
class Account implements Candidate {
  readonly nodeId: string
  readonly bootId: string
  status: Report['status']
  isBackedOff: boolean
  workers: number
  load: number
  pending = 0
  #excess: number
  #sentAt: number
  #roomsOpened: number
  /** Oldest first. */
  #placements: Placement[] = []

  constructor(
    report: Report,
    public heardAt: number,
  ) {
    this.nodeId = report.nodeId
    this.bootId = report.bootId
    this.status = report.status
    this.isBackedOff = report.isBackedOff ?? false
    this.workers = report.workers
    this.#excess = excessOf(report)
    this.load = this.#loadOf(report)
    this.#sentAt = report.sentAt
    this.#roomsOpened = report.roomsOpened
  }

  take(report: Report, heardAt: number): void {
    this.heardAt = heardAt
    // Ours to say as well, between two reports.
    this.status = report.status
    this.isBackedOff = report.isBackedOff ?? false
    if (report.sentAt === this.#sentAt) return
    // Rooms open in the order in which they were placed, but for some milliseconds.
    const opened = Math.max(report.roomsOpened - this.#roomsOpened, 0)
    this.#placements = this.#placements.slice(opened).filter(({ at }) => heardAt - at < PENDING_MS)
    this.#sentAt = report.sentAt
    this.#roomsOpened = report.roomsOpened
    this.workers = report.workers
    this.#excess += EXCESS_SHARE * (excessOf(report) - this.#excess)
    this.load = this.#loadOf(report)
    this.#sum()
  }

  add(placement: Placement): void {
    this.#placements.push(placement)
    this.#sum()
  }

  /** The latest of that cost has come to nothing. */
  withdraw(cost: number): void {
    const index = this.#placements.findLastIndex((placement) => placement.cost === cost)
    if (index >= 0) this.#placements.splice(index, 1)
    this.#sum()
  }

  /**
   * What is committed, and what the machine does beyond it: prices are cautious, but it may do other work too. That is
   * a mean, since what has just been committed to is not yet in the processors' load.
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
 * What each node holds by its last heartbeat, and what this and the other masters have placed there since. Heartbeats
 * are half a second apart: without it a burst of sessions would all go to the node that was the least loaded before it.
 * All times are of one clock, ms.
 */
export class PlacementLedger {
  readonly #accounts = new Map<string, Account>()
  #nodes: readonly Account[] = []

  /** The nodes that may be chosen. */
  get nodes(): readonly Candidate[] {
    return this.#nodes
  }

  /** These are the nodes there are, and the last heartbeat of each; the same heartbeat again changes nothing. */
  hear(reports: readonly Report[], heardAt: (nodeId: string) => number): void {
    for (const report of reports) this.hearOne(report, heardAt(report.nodeId))
    if (reports.length === this.#nodes.length) return
    const there = new Set(reports.map(({ nodeId }) => nodeId))
    for (const nodeId of this.#accounts.keys()) if (!there.has(nodeId)) this.#accounts.delete(nodeId)
    this.#nodes = [...this.#accounts.values()]
  }

  hearOne(report: Report, heardAt: number): void {
    const account = this.#accounts.get(report.nodeId)
    if (account?.bootId === report.bootId) return account.take(report, heardAt)
    // What was placed with an older boot went with it.
    this.#accounts.set(report.nodeId, new Account(report, heardAt))
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
