/** VP8's arithmetic coder (RFC 6386 §7): each flag is coded with its probability of being 0, in 1/256. */
export class BoolEncoder {
  readonly #bytes: number[] = []
  #range = 255
  #bottom = 0
  #bitsLeft = 24

  flag(probability: number, value: boolean): void {
    const split = 1 + (((this.#range - 1) * probability) >> 8)
    if (value) {
      this.#bottom += split
      this.#range -= split
    } else {
      this.#range = split
    }
    while (this.#range < 128) this.#shift()
  }

  /** Writes an unsigned number, most significant bit first, with equal probabilities of 0 and 1. */
  literal(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) this.flag(128, ((value >> bit) & 1) === 1)
  }

  finish(): Buffer {
    for (let bit = 0; bit < 32; bit++) this.#shift()
    return Buffer.from(this.#bytes)
  }

  #shift(): void {
    this.#range <<= 1
    // Bit 32 of the doubled number is the carry; bits 24 to 31 are the next byte after 24 shifts.
    this.#bottom *= 2
    if (this.#bottom >= 0x1_0000_0000) {
      this.#carry()
      this.#bottom -= 0x1_0000_0000
    }
    if (--this.#bitsLeft === 0) {
      this.#bytes.push(Math.floor(this.#bottom / 0x100_0000))
      this.#bottom %= 0x100_0000
      this.#bitsLeft = 8
    }
  }

  #carry(): void {
    for (let at = this.#bytes.length - 1; at >= 0; at--) {
      const byte = this.#bytes[at] ?? 0
      this.#bytes[at] = (byte + 1) & 0xff
      if (byte !== 0xff) return
    }
  }
}
