import type { Clock } from '../platform/clock.js'
import { backoffMs } from '../platform/delay.js'

type TransportState = 'new' | 'connecting' | 'connected' | 'failed' | 'disconnected' | 'closed'

export interface IceRecoveryHandlers {
  /** Requests new ICE parameters from the server and applies them. A rejection is retried. */
  restart(): Promise<void>
  exception(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED'): void
}

/** ms. */
export const ICE_TIMEOUTS = {
  /** ICE is restarted after a transport has been disconnected for this time; it often recovers from a shorter one. */
  restart: 2_000,
  /** The application gets an exception after a transport has been disconnected for this time. */
  exception: 4_000,
  /** ICE is restarted when a transport is not connected this time after its first use. */
  opening: 10_000,
  /** The delay before the next restart, doubled each time up to `longestRetry`. */
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

  /**
   * The server has accepted the first use of the transport. Browsers without a single candidate pair, for example because
   * the TURN credentials have expired, stay in `new` instead of changing to `failed`.
   */
  opened(): void {
    if (this.#state === 'new' || this.#state === 'connecting') this.#after(ICE_TIMEOUTS.opening, () => this.#failed())
  }

  /** The socket is open again: restarts ICE now if the transport is not connected. */
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
    const delay = backoffMs(this.#attempts++, ICE_TIMEOUTS.firstRetry, ICE_TIMEOUTS.longestRetry)
    this.#after(delay, () => this.#restart())
    if (!this.#reported)
      this.#after(ICE_TIMEOUTS.exception - ICE_TIMEOUTS.restart, () => this.#report('ICE_CONNECTION_DISCONNECTED'))
    // The timer retries even when this request fails.
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
