import {
  HEARTBEAT_INTERVAL_MS,
  NODE_SILENT_MS,
  RESTING_INTERVAL_MS,
  silentMsOf,
  type Heartbeat,
} from '@session-service/contract'

interface LastHeartbeat {
  heartbeat: Heartbeat
  at: number
}

export interface HeartbeatTableOptions {
  /** The silent window of nodes that do not rest. */
  silentMs?: number
  /** A monotonic clock, ms. */
  now?: () => number
}

/**
 * Stores the last heartbeat of each node and decides which nodes are lost. A node is lost when the bus was alive during
 * the whole silent window after its last heartbeat. A gap in the signs of life of the bus (bus lost or frozen, this
 * process blocked) restarts the window of every node, so that an outage on our side is never taken for the loss of nodes.
 * No node becomes lost without calls of `busAlive`; `HeartbeatWatch` makes them.
 */
export class HeartbeatTable {
  readonly #silentMs: number
  readonly #now: () => number
  readonly #lastHeartbeats = new Map<string, LastHeartbeat>()
  #aliveAt: number
  /** The shortest interval of all nodes; undefined after a change. */
  #shortestMs: number | undefined

  constructor({ silentMs = NODE_SILENT_MS, now = () => performance.now() }: HeartbeatTableOptions = {}) {
    this.#silentMs = silentMs
    this.#now = now
    this.#aliveAt = now()
  }

  /** Returns the previous heartbeat: undefined for a new node, one with another `bootId` for a restarted node. */
  beat(heartbeat: Heartbeat): Heartbeat | undefined {
    this.busAlive()
    const previous = this.#lastHeartbeats.get(heartbeat.nodeId)?.heartbeat
    if (previous?.everyMs !== heartbeat.everyMs) this.#shortestMs = undefined
    this.#lastHeartbeats.set(heartbeat.nodeId, { heartbeat, at: this.#aliveAt })
    return previous
  }

  /** How often the bus has to show that it is alive: the shortest interval of all nodes. */
  get checkEveryMs(): number {
    this.#shortestMs ??= Math.min(
      RESTING_INTERVAL_MS,
      ...[...this.#lastHeartbeats.values()].map(({ heartbeat }) => heartbeat.everyMs),
    )
    return this.#shortestMs
  }

  /** Call it each time the bus answers, at least once in two `checkEveryMs`. */
  busAlive(): void {
    const now = this.#now()
    const longestMs = this.#silentMs / 2 + 2 * (this.checkEveryMs - HEARTBEAT_INTERVAL_MS)
    const isGap = now - this.#aliveAt > longestMs
    if (isGap) for (const entry of this.#lastHeartbeats.values()) if (!this.#isLost(entry)) entry.at = now
    this.#aliveAt = now
  }

  /** Lost nodes that were not removed with `forget`. */
  lost(): Heartbeat[] {
    return this.#select((entry) => this.#isLost(entry))
  }

  /** Nodes that are not lost. */
  live(): Heartbeat[] {
    return this.#select((entry) => !this.#isLost(entry))
  }

  get(nodeId: string): Heartbeat | undefined {
    return this.#lastHeartbeats.get(nodeId)?.heartbeat
  }

  /** The time of the last heartbeat on the clock of `now`; -Infinity without one. */
  lastHeartbeatAt(nodeId: string): number {
    return this.#lastHeartbeats.get(nodeId)?.at ?? -Infinity
  }

  forget(nodeId: string): void {
    this.#lastHeartbeats.delete(nodeId)
    this.#shortestMs = undefined
  }

  #isLost({ heartbeat, at }: LastHeartbeat): boolean {
    return this.#aliveAt - at >= silentMsOf(heartbeat.everyMs, this.#silentMs)
  }

  #select(wanted: (entry: LastHeartbeat) => boolean): Heartbeat[] {
    return [...this.#lastHeartbeats.values()].filter(wanted).map(({ heartbeat }) => heartbeat)
  }
}
