/** The time units of a report: deltas of 250 µs from a start in units of 64 ms (draft-holmer-rmcat-transport-wide-cc). */
const TICKS_A_MS = 4
const TICKS_A_START = 256
const SYMBOLS_A_CHUNK = 7
const NOT_RECEIVED = 0
const SMALL_DELTA = 1
const LARGE_DELTA = 2
const TRANSPORT_FEEDBACK = 205
const FORMAT = 15
/** The maximum queue of the simulated link; it drops further packets. */
const LONGEST_QUEUE_MS = 400
/** A larger jump of the sequence number counts as a restart, not as loss. */
const LONGEST_GAP = 1_000

/**
 * Reports the arrival times of packets to the server by their transport-wide sequence numbers, from which the server
 * estimates the available bandwidth. With a capacity it reports the times and losses of a simulated link with a queue.
 */
export class TransportFeedback {
  readonly #arrivals = new Map<number, number>()
  #highest = -1
  #reported = -1
  #count = 0
  #linkFreeAt = 0

  constructor(readonly capacityKbps: number | undefined) {}

  /** @param sequence 16 bits */
  arrive(sequence: number, bytes: number, now: number): void {
    const unrolled = this.#unroll(sequence)
    this.#highest = Math.max(this.#highest, unrolled)
    const at = this.#behindTheLink(bytes, now)
    if (at !== undefined) this.#arrivals.set(unrolled, at)
  }

  /** Returns the feedback since the last call; empty without new packets. */
  take(senderSsrc: number, mediaSsrc: number, now: number): Buffer[] {
    const due = [...this.#arrivals].filter(([, at]) => at <= now).toSorted(([a], [b]) => a - b)
    const [first] = due
    const last = due.at(-1)
    if (!first || !last) return []
    for (const [sequence] of due) this.#arrivals.delete(sequence)
    const next = this.#reported + 1
    const base = this.#reported >= 0 && first[0] > next && first[0] - next < LONGEST_GAP ? next : first[0]
    this.#reported = Math.max(this.#reported, last[0])
    const packets: Buffer[] = []
    for (let at = 0, from = base; at < due.length;) {
      const { packet, taken } = this.#packet(due.slice(at), from, senderSsrc, mediaSsrc)
      packets.push(packet)
      at += taken
      from = due[at]?.[0] ?? 0
    }
    return packets
  }

  #unroll(sequence: number): number {
    if (this.#highest < 0) return sequence
    const distance = (sequence - this.#highest) & 0xffff
    return this.#highest + (distance < 0x8000 ? distance : distance - 0x1_0000)
  }

  #behindTheLink(bytes: number, now: number): number | undefined {
    if (this.capacityKbps === undefined) return now
    const begins = Math.max(now, this.#linkFreeAt)
    if (begins - now > LONGEST_QUEUE_MS) return undefined
    return (this.#linkFreeAt = begins + (bytes * 8) / this.capacityKbps)
  }

  /** Encodes as many arrivals as the deltas of one RTCP packet can express. */
  #packet(arrivals: [number, number][], base: number, senderSsrc: number, mediaSsrc: number) {
    const start = Math.floor(((arrivals[0]?.[1] ?? 0) * TICKS_A_MS) / TICKS_A_START)
    const symbols: number[] = []
    const deltas: number[] = []
    let ticks = start * TICKS_A_START
    let taken = 0
    for (const [sequence, at] of arrivals) {
      const delta = Math.round(at * TICKS_A_MS) - ticks
      if (delta < -0x8000 || delta > 0x7fff) break
      while (symbols.length < sequence - base) symbols.push(NOT_RECEIVED)
      const small = delta >= 0 && delta <= 0xff
      symbols.push(small ? SMALL_DELTA : LARGE_DELTA)
      if (!small) deltas.push((delta >> 8) & 0xff)
      deltas.push(delta & 0xff)
      ticks += delta
      taken++
    }
    return { packet: this.#serialize(senderSsrc, mediaSsrc, base, start, symbols, deltas), taken }
  }

  #serialize(sender: number, media: number, base: number, start: number, symbols: number[], deltas: number[]): Buffer {
    const chunks = Math.ceil(symbols.length / SYMBOLS_A_CHUNK)
    const packet = Buffer.alloc(Math.ceil((20 + chunks * 2 + deltas.length) / 4) * 4)
    packet[0] = 0x80 | FORMAT
    packet[1] = TRANSPORT_FEEDBACK
    packet.writeUInt16BE(packet.length / 4 - 1, 2)
    packet.writeUInt32BE(sender, 4)
    packet.writeUInt32BE(media, 8)
    packet.writeUInt16BE(base & 0xffff, 12)
    packet.writeUInt16BE(symbols.length, 14)
    packet.writeUIntBE(start % 0x100_0000, 16, 3)
    packet[19] = this.#count++ & 0xff
    for (let chunk = 0; chunk < chunks; chunk++) {
      // Both top bits mean a vector of two-bit symbols.
      let value = 0xc000
      for (let at = 0; at < SYMBOLS_A_CHUNK; at++) {
        value |= (symbols[chunk * SYMBOLS_A_CHUNK + at] ?? NOT_RECEIVED) << (12 - at * 2)
      }
      packet.writeUInt16BE(value, 20 + chunk * 2)
    }
    packet.set(deltas, 20 + chunks * 2)
    return packet
  }
}
