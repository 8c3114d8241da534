/** The window in which late packets are recognized; a power of two. */
const WINDOW = 1024
const HALF_CIRCLE = 0x8000
const NTP_FRACTION = 65_536

/** The values of a receiver report block (RFC 3550 §6.4.1). */
export interface ReportBlock {
  /** The loss rate since the last report, in 1/256. */
  readonly fractionLost: number
  readonly packetsLost: number
  /** The number of wraps in the upper 16 bits, the sequence number in the lower. */
  readonly highestSequence: number
  /** In units of the RTP clock. */
  readonly jitter: number
  /** The middle 32 bits of the last sender report's NTP time; 0 without a report. */
  readonly lastSenderReport: number
  /** The time since the arrival of that report, in 1/65536 s. */
  readonly delaySinceSenderReport: number
}

/** Tracks a received RTP stream: unrolled sequence numbers, losses, jitter. Uses neither I/O nor a clock. */
export class Reception {
  packets = 0
  duplicates = 0
  readonly #seen = new Int32Array(WINDOW).fill(-1)
  #first = -1
  #highest = -1
  #jitter = 0
  #transit: number | undefined
  #reportedExpected = 0
  #reportedPackets = 0
  #senderReport = { middleNtp: 0, at: 0 }

  constructor(readonly clockRate: number) {}

  /** Returns the unrolled number of a sequence number, wraps × 65536 + number, without counting the packet. */
  unroll(sequence: number): number {
    if (this.#highest < 0) return sequence
    const distance = (sequence - this.#highest) & 0xffff
    return distance < HALF_CIRCLE ? this.#highest + distance : this.#highest + distance - 0x1_0000
  }

  /**
   * Counts a packet by its unrolled number.
   * @returns `missing`: the first number of the gap before this packet; `fresh`: false for a duplicate
   */
  arrive(unrolled: number, timestamp: number, now: number): { fresh: boolean; gapFrom: number | undefined } {
    const slot = unrolled & (WINDOW - 1)
    if (this.#seen[slot] === unrolled || unrolled < 0) {
      this.duplicates++
      return { fresh: false, gapFrom: undefined }
    }
    this.#seen[slot] = unrolled
    this.packets++
    this.#trackJitter(timestamp, now)
    if (this.#first < 0 || unrolled < this.#first) this.#first = unrolled
    const expected = this.#highest + 1
    if (unrolled < this.#highest) return { fresh: true, gapFrom: undefined }
    this.#highest = unrolled
    return { fresh: true, gapFrom: expected > 0 && unrolled > expected ? expected : undefined }
  }

  has(unrolled: number): boolean {
    return this.#seen[unrolled & (WINDOW - 1)] === unrolled
  }

  /** Arrival minus timestamp of the last packet, ms: its changes are those of the delay. */
  get transitMs(): number | undefined {
    return this.#transit === undefined ? undefined : (this.#transit * 1_000) / this.clockRate
  }

  get expected(): number {
    return this.#highest < 0 ? 0 : this.#highest - this.#first + 1
  }

  /** The number of missing packets; late packets reduce it. */
  get lost(): number {
    return this.expected - this.packets
  }

  senderReport(middleNtp: number, now: number): void {
    this.#senderReport = { middleNtp, at: now }
  }

  /** Creates the report since the last one; undefined before the first packet. */
  report(now: number): ReportBlock | undefined {
    if (this.#highest < 0) return undefined
    const expected = this.expected - this.#reportedExpected
    const missing = expected - (this.packets - this.#reportedPackets)
    this.#reportedExpected = this.expected
    this.#reportedPackets = this.packets
    const { middleNtp, at } = this.#senderReport
    return {
      fractionLost: expected > 0 && missing > 0 ? Math.min(255, Math.floor((missing * 256) / expected)) : 0,
      packetsLost: Math.max(0, this.lost),
      highestSequence: this.#highest,
      jitter: Math.floor(this.#jitter),
      lastSenderReport: middleNtp,
      delaySinceSenderReport: middleNtp === 0 ? 0 : Math.floor(((now - at) * NTP_FRACTION) / 1000),
    }
  }

  #trackJitter(timestamp: number, now: number): void {
    const transit = (now * this.clockRate) / 1000 - timestamp
    const change = this.#transit === undefined ? 0 : Math.abs(transit - this.#transit)
    this.#transit = transit
    // Excludes a wrap of the timestamp.
    if (change < this.clockRate * 60) this.#jitter += (change - this.#jitter) / 16
  }
}
