import type { Clock } from '../platform/clock.js'

export type TransportState = 'new' | 'connecting' | 'connected' | 'failed' | 'disconnected' | 'closed'

export interface IceRecoveryHandlers {
  /** Asks the server for new ICE parameters and uses them. May reject; then it is tried again. */
  restart(): Promise<void>
  exception(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED'): void
}

/** ms. */
export const ICE_TIMEOUTS = {
  /** A transport that has been disconnected this long is restarted; shorter ones heal by themselves. */
  restart: 2_000,
  /** …and this long: the application is told. */
  exception: 4_000,
  /** Time that a restart gets before the next one; doubled each time up to `longest`. */
  firstRetry: 4_000,
  longestRetry: 30_000,
} as const

/** Watches the state of one transport and restarts ICE until it is connected again. */
export class IceRecovery {
  #state: TransportState = 'new'
  #attempts = 0
  #reported = false
  readonly #timers = new Set<() => void>()
  readonly #clock: Clock
  readonly #handlers: IceRecoveryHandlers

  constructor(clock: Clock, handlers: IceRecoveryHandlers) {
    this.#clock = clock
    this.#handlers = handlers
  }

  changed(state: TransportState): void {
    if (this.#state === 'closed' || state === this.#state) return
    this.#state = state
    if (state === 'connected') this.#reset()
    if (state === 'closed') this.stop()
    if (state === 'failed') this.#failed()
    if (state === 'disconnected') {
      this.#after(ICE_TIMEOUTS.restart, () => this.#restart())
      this.#after(ICE_TIMEOUTS.exception, () => this.#report('ICE_CONNECTION_DISCONNECTED'))
    }
  }

  /** The socket is back: whatever of media did not come back with it is restarted now. */
  signallingResumed(): void {
    if (this.#state === 'failed' || this.#state === 'disconnected') this.#restart()
  }

  stop(): void {
    this.#state = 'closed'
    this.#reset()
  }

  #reset(): void {
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    this.#attempts = 0
    this.#reported = false
  }

  #failed(): void {
    this.#report('ICE_CONNECTION_FAILED')
    if (this.#attempts === 0) this.#restart()
  }

  #report(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED'): void {
    if (this.#reported || this.#state === 'connected' || this.#state === 'closed') return
    this.#reported = true
    this.#handlers.exception(name)
  }

  #restart(): void {
    if (this.#state === 'connected' || this.#state === 'closed') return
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    const wait = Math.min(ICE_TIMEOUTS.firstRetry * 2 ** this.#attempts++, ICE_TIMEOUTS.longestRetry)
    this.#after(wait, () => this.#restart())
    if (!this.#reported)
      this.#after(ICE_TIMEOUTS.exception - ICE_TIMEOUTS.restart, () => this.#report('ICE_CONNECTION_DISCONNECTED'))
    // The next timer tries again whether or not this one could be asked for.
    this.#handlers.restart().catch(() => {})
  }

  #after(ms: number, task: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel)
      task()
    })
    this.#timers.add(cancel)
  }
}
