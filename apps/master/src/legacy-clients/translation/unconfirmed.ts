/**
 * A frame precedes the pong to the next ping. The library opens a new socket when a pong is missing at the following ping:
 * the one after that proves that the pong has arrived.
 */
const PINGS = 3

/** Values that were sent to a client lately, by keys, and may not have arrived. */
export class Unconfirmed<V> {
  readonly #sent = new Map<string, { value: V; pings: number }>()
  #pings = 0

  add(key: string, value: V): void {
    this.#sent.set(key, { value, pings: this.#pings })
  }

  /** Removes and returns all, in the order of their first additions. */
  take(): [key: string, value: V][] {
    const taken = [...this.#sent].map(([key, { value }]): [string, V] => [key, value])
    this.#sent.clear()
    return taken
  }

  /** The client has sent a ping. */
  pinged(): void {
    this.#pings += 1
    for (const [key, { pings }] of this.#sent) if (this.#pings - pings >= PINGS) this.#sent.delete(key)
  }
}
