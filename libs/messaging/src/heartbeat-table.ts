import { NODE_SILENT_MS, type Heartbeat } from '@session-service/contract'

interface Seen {
  heartbeat: Heartbeat
  at: number
}

export interface HeartbeatTableOptions {
  silentMs?: number
  /** Monotonic ms. */
  now?: () => number
}

/**
 * The last heartbeat of each node, and which nodes are lost. A node is lost when the bus has been proven alive a
 * whole silent window after the node's last heartbeat; a gap in the proofs (bus lost or frozen, this process held up)
 * starts the window of every node anew, so that our own deafness is never taken for the death of nodes.
 * Nothing is ever lost without proofs, so whoever keeps a table calls `busAlive`; `HeartbeatWatch` does all of it.
 */
export class HeartbeatTable {
  readonly #silentMs: number
  readonly #now: () => number
  readonly #seen = new Map<string, Seen>()
  #provenAt: number

  constructor({ silentMs = NODE_SILENT_MS, now = () => performance.now() }: HeartbeatTableOptions = {}) {
    this.#silentMs = silentMs
    this.#now = now
    this.#provenAt = now()
  }

  /** Gives the heartbeat before: none from a node that is new, another `bootId` from one that was started anew. */
  beat(heartbeat: Heartbeat): Heartbeat | undefined {
    this.busAlive()
    const before = this.#seen.get(heartbeat.nodeId)?.heartbeat
    this.#seen.set(heartbeat.nodeId, { heartbeat, at: this.#provenAt })
    return before
  }

  /** To be called each time the bus answers, at least three times per silent window. */
  busAlive(): void {
    const now = this.#now()
    const isGap = now - this.#provenAt > this.#silentMs / 2
    if (isGap) for (const seen of this.#seen.values()) if (!this.#isLost(seen)) seen.at = now
    this.#provenAt = now
  }

  /** Nodes that are lost, until `forget`. */
  lost(): Heartbeat[] {
    return this.#select((seen) => this.#isLost(seen))
  }

  /** Nodes that are not lost. */
  live(): Heartbeat[] {
    return this.#select((seen) => !this.#isLost(seen))
  }

  get(nodeId: string): Heartbeat | undefined {
    return this.#seen.get(nodeId)?.heartbeat
  }

  /** When the node was last heard, by the clock of `now`; long ago when it never was. */
  heardAt(nodeId: string): number {
    return this.#seen.get(nodeId)?.at ?? -Infinity
  }

  forget(nodeId: string): void {
    this.#seen.delete(nodeId)
  }

  #isLost({ at }: Seen): boolean {
    return this.#provenAt - at >= this.#silentMs
  }

  #select(wanted: (seen: Seen) => boolean): Heartbeat[] {
    return [...this.#seen.values()].filter(wanted).map(({ heartbeat }) => heartbeat)
  }
}
