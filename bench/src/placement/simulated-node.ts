import { commitmentOf, GATHERING_MS, HEARTBEAT_INTERVAL_MS } from '@session-service/contract'
import type { Report } from '@session-service/master/placement'
import type { Random } from '../autoscaling/random.js'

const WORKERS = 16
/** Averaging window and noise (percent of the machine) of the CPU load in heartbeats. */
const CPU_WINDOW_MS = 5_000
const CPU_NOISE = 1
/** Share of the estimated cost that is really used: the estimates are cautious. */
const USED_OF_PRICE = 0.7

/** The state of a node and its heartbeat reports. */
export class SimulatedNode {
  #held = 0
  #cpu = 0
  #opened = 0
  readonly #rooms = new Set<number>()
  #young: { session: number; at: number }[] = []

  constructor(readonly index: number) {}

  open(session: number, cost: number, at: number): void {
    this.#opened++
    this.#held += cost
    this.#rooms.add(session)
    this.#young.push({ session, at })
  }

  /** Changes the cost of a session; a room that is not open yet is counted when it opens. */
  changed(session: number, by: number): void {
    if (this.#rooms.has(session)) this.#held += by
  }

  report(now: number, random: Random, costOf: (session: number) => number): Report {
    const share = HEARTBEAT_INTERVAL_MS / CPU_WINDOW_MS
    this.#cpu += ((USED_OF_PRICE * this.#held) / WORKERS - this.#cpu) * share
    const cpuLoad = this.#cpu + (2 * random.next() - 1) * CPU_NOISE
    return {
      nodeId: `${this.index}`,
      bootId: 'boot',
      sentAt: now,
      everyMs: HEARTBEAT_INTERVAL_MS,
      status: 'running',
      workers: WORKERS,
      cpuLoad: Math.min(Math.max(cpuLoad, 0), 100),
      committed: this.#held + this.#growth(now, costOf),
      roomsOpened: this.#opened,
    }
  }

  #growth(now: number, costOf: (session: number) => number): number {
    this.#young = this.#young.filter(({ session, at }) => now - at < GATHERING_MS && costOf(session) > 0)
    let growth = 0
    for (const { session, at } of this.#young) growth += commitmentOf(costOf(session), now - at) - costOf(session)
    return growth
  }
}
