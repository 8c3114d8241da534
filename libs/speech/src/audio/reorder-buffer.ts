import { sequenceDistance } from './serial-numbers.js'

interface Sequenced {
  sequence: number
}

export interface ReorderCounters {
  lost: number
  late: number
  duplicates: number
  restarts: number
}

/** A packet in order, and how many before it did not arrive. */
export interface Ordered<T> {
  packet: T
  lost: number
  /** The sequence numbers have a new base; `lost` is 0. */
  isRestart: boolean
}

/** Packets that may wait for a missing one. */
const MAX_WAITING = 16
/** A retransmission takes a round trip; recognition does not need less delay. */
const MAX_WAIT_MS = 100
/** A longer jump is a restart of the publisher rather than loss (RFC 3550, A.1). */
const MAX_DROPOUT = 3000
const MAX_MISORDER = 100
/** A power of two. */
const HISTORY = 128

interface Waiting<T> {
  packet: T
  since: number
}

/** Puts packets into the order of their sequence numbers. Pure: times are parameters. Bounded in packets and in time. */
export class ReorderBuffer<T extends Sequenced> {
  readonly counters: ReorderCounters = { lost: 0, late: 0, duplicates: 0, restarts: 0 }
  #next: number | undefined
  readonly #waiting = new Map<number, Waiting<T>>()
  /** The last sequence numbers that arrived, by their lowest bits. */
  readonly #history = new Int32Array(HISTORY).fill(-1)
  /** The first packet with another base; a second one that follows it confirms the restart. */
  #suspect: T | undefined

  /** The number of packets that wait for a missing one. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Returns the packets that are in order now. */
  push(packet: T, now: number): Ordered<T>[] {
    const { sequence } = packet
    if (this.#next === undefined) return this.#begin(packet, false)
    const ahead = sequenceDistance(sequence, this.#next)
    if (ahead > MAX_DROPOUT || ahead < -MAX_MISORDER) return this.#suspectRestart(packet, now)
    this.#suspect = undefined
    if (this.#history[sequence % HISTORY] === sequence) return this.#discard('duplicates')
    if (ahead < 0) return this.#discard('late')
    this.#history[sequence % HISTORY] = sequence
    this.#waiting.set(sequence, { packet, since: now })
    const ordered = this.#drain()
    const mayWait = ahead > HISTORY / 2 ? 0 : MAX_WAITING
    while (this.#waiting.size > mayWait) ordered.push(...this.#skip())
    return ordered
  }

  /** Returns the packets that have waited too long for a missing one. */
  expire(now: number): Ordered<T>[] {
    const ordered: Ordered<T>[] = []
    while (this.#waiting.size > 0 && this.#oldest() <= now - MAX_WAIT_MS) ordered.push(...this.#skip())
    return ordered
  }

  /** Returns all packets that wait, and accepts any sequence number next. */
  flush(): Ordered<T>[] {
    const ordered: Ordered<T>[] = []
    while (this.#waiting.size > 0) ordered.push(...this.#skip())
    this.#next = undefined
    this.#suspect = undefined
    this.#history.fill(-1)
    return ordered
  }

  #begin(packet: T, isRestart: boolean): Ordered<T>[] {
    this.#next = (packet.sequence + 1) & 0xffff
    this.#history[packet.sequence % HISTORY] = packet.sequence
    return [{ packet, lost: 0, isRestart }]
  }

  #discard(counter: 'late' | 'duplicates'): Ordered<T>[] {
    this.counters[counter]++
    return []
  }

  #suspectRestart(packet: T, now: number): Ordered<T>[] {
    const suspect = this.#suspect
    this.#suspect = packet
    if (!suspect || sequenceDistance(packet.sequence, suspect.sequence) !== 1) return []
    const before = this.flush()
    this.counters.restarts++
    return [...before, ...this.#begin(suspect, true), ...this.push(packet, now)]
  }

  /** The packets from the next one on, up to a missing one. */
  #drain(lost = 0): Ordered<T>[] {
    const ordered: Ordered<T>[] = []
    for (;;) {
      const next = this.#next ?? 0
      const found = this.#waiting.get(next)
      if (!found) return ordered
      this.#waiting.delete(next)
      ordered.push({ packet: found.packet, lost: ordered.length === 0 ? lost : 0, isRestart: false })
      this.#next = (next + 1) & 0xffff
    }
  }

  /** Gives up the missing packets before the first one that waits. */
  #skip(): Ordered<T>[] {
    const next = this.#next ?? 0
    let lost = Infinity
    for (const sequence of this.#waiting.keys()) lost = Math.min(lost, sequenceDistance(sequence, next))
    this.#next = (next + lost) & 0xffff
    this.counters.lost += lost
    return this.#drain(lost)
  }

  #oldest(): number {
    let oldest = Infinity
    for (const { since } of this.#waiting.values()) oldest = Math.min(oldest, since)
    return oldest
  }
}
