/** The maxima of the receivers of a stream, kbps. A receiver without a maximum (0) does not count. */
export class ReceiverMaxima {
  /** The number of receivers per maximum: a large session has thousands of receivers and few different maxima. */
  readonly #receivers = new Map<number, number>()

  /** 0 = no receiver has a maximum. */
  get lowest(): number {
    return this.#receivers.size === 0 ? 0 : Math.min(...this.#receivers.keys())
  }

  add(kbps: number): void {
    if (kbps > 0) this.#receivers.set(kbps, (this.#receivers.get(kbps) ?? 0) + 1)
  }

  remove(kbps: number): void {
    const left = (this.#receivers.get(kbps) ?? 0) - 1
    if (left > 0) this.#receivers.set(kbps, left)
    else this.#receivers.delete(kbps)
  }
}
