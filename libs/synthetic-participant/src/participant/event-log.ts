import type { NotificationParams, SignallingNotification } from '@session-service/contract'
import { budgetMs, calmTimeout } from '@session-service/local-stack'

/** A valid notification of the server, with its time of arrival. */
export type ReceivedEvent = {
  [N in SignallingNotification]: { readonly method: N; readonly params: NotificationParams<N>; readonly at: number }
}[SignallingNotification]
export type EventOf<N extends SignallingNotification> = Extract<ReceivedEvent, { method: N }>

const DEFAULT_WAIT_MS = 5_000

interface Waiter {
  readonly offer: (event: ReceivedEvent) => boolean
  readonly fail: (error: Error) => void
}

/** Records all notifications in order and resolves waiting calls. */
export class EventLog {
  readonly all: ReceivedEvent[] = []
  readonly #waiters = new Set<Waiter>()
  readonly #listeners = new Map<SignallingNotification, Set<(event: ReceivedEvent) => void>>()

  add(event: ReceivedEvent): void {
    this.all.push(event)
    for (const waiter of this.#waiters) if (waiter.offer(event)) this.#waiters.delete(waiter)
    for (const listener of this.#listeners.get(event.method) ?? []) listener(event)
  }

  /** @returns a function that removes the listener */
  on<N extends SignallingNotification>(method: N, listener: (event: EventOf<N>) => void): () => void {
    const listeners = this.#listeners.get(method) ?? new Set()
    this.#listeners.set(method, listeners)
    const entry = (event: ReceivedEvent): void => {
      if (isOf(method, event)) listener(event)
    }
    listeners.add(entry)
    return () => void listeners.delete(entry)
  }

  /** Calls the listeners with the events that arrived before they were added. */
  replay(): void {
    for (const event of [...this.all]) for (const listener of this.#listeners.get(event.method) ?? []) listener(event)
  }

  of<N extends SignallingNotification>(method: N): EventOf<N>[] {
    return this.all.filter((event) => isOf(method, event))
  }

  /**
   * Resolves to the first matching event, which may have arrived already. Rejects after `deadlineMs`, a time budget, and
   * names the received events.
   */
  waitFor<N extends SignallingNotification>(
    method: N,
    predicate: (params: NotificationParams<N>) => boolean = () => true,
    deadlineMs = DEFAULT_WAIT_MS,
  ): Promise<EventOf<N>> {
    const matches = (event: ReceivedEvent): event is EventOf<N> =>
      isOf(method, event) && predicate(event.params as NotificationParams<N>)
    const found = this.all.find(matches)
    if (found) return Promise.resolve(found)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        offer: (event) => {
          if (!matches(event)) return false
          cancelTimeout()
          resolve(event)
          return true
        },
        fail: (error) => {
          cancelTimeout()
          this.#waiters.delete(waiter)
          reject(error)
        },
      }
      const expire = (): void => waiter.fail(this.#missing(method, `within ${budgetMs(deadlineMs)} ms`))
      const cancelTimeout = calmTimeout(expire, deadlineMs)
      this.#waiters.add(waiter)
    })
  }

  /** Rejects all waiting calls. */
  end(reason: string): void {
    for (const waiter of this.#waiters) waiter.fail(new Error(`${reason} before the expected event`))
  }

  #missing(method: string, when: string): Error {
    const received = this.all.map((event) => event.method).join(', ')
    return new Error(`no matching ${method} ${when}; received: ${received || 'nothing'}`)
  }
}

function isOf<N extends SignallingNotification>(method: N, event: ReceivedEvent): event is EventOf<N> {
  return event.method === method
}
