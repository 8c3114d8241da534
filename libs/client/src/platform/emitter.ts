export type Listener<E> = (event: E) => unknown

interface Entry {
  readonly listener: unknown
  readonly call: (event: unknown) => unknown
  readonly once: boolean
}

/** Reports an error of the application's code to the page, so that it does not interrupt the library. */
function report(error: unknown): void {
  if (typeof globalThis.reportError === 'function') globalThis.reportError(error)
  else console.error(error)
}

/**
 * Typed events. `Events` maps an event's name to its payload. Listeners run in the order in which they were added;
 * one that throws is reported to the page (`window.onerror`) and does not stop the others.
 */
export class Emitter<Events extends object> {
  readonly #entries = new Map<keyof Events, readonly Entry[]>()

  on<K extends keyof Events>(name: K, listener: Listener<Events[K]>): this {
    return this.#add(name, listener, false)
  }

  /** Like `on`, but only for the next event. */
  once<K extends keyof Events>(name: K, listener: Listener<Events[K]>): this {
    return this.#add(name, listener, true)
  }

  /** Removes `listener`, or all listeners of the event when `listener` is absent. */
  off<K extends keyof Events>(name: K, listener?: Listener<Events[K]>): this {
    const left = listener ? (this.#entries.get(name) ?? []).filter((entry) => entry.listener !== listener) : []
    if (left.length > 0) this.#entries.set(name, left)
    else this.#entries.delete(name)
    return this
  }

  protected emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const entry of this.#entries.get(name) ?? []) {
      if (entry.once) this.#remove(name, entry)
      try {
        entry.call(event)
      } catch (error) {
        report(error)
      }
    }
  }

  #add<K extends keyof Events>(name: K, listener: Listener<Events[K]>, once: boolean): this {
    const entry: Entry = { listener, call: (event) => listener(event as Events[K]), once }
    this.#entries.set(name, [...(this.#entries.get(name) ?? []), entry])
    return this
  }

  #remove(name: keyof Events, removed: Entry): void {
    const left = (this.#entries.get(name) ?? []).filter((entry) => entry !== removed)
    if (left.length > 0) this.#entries.set(name, left)
    else this.#entries.delete(name)
  }
}
