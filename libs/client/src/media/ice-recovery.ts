import type { Clock } from '../platform/clock.js'

export type TransportState = 'new' | 'connecting' | 'connected' | 'failed' | 'disconnected' | 'closed'

export interface IceRecoveryHandlers {
  /** Asks the server for new ICE parameters and uses them. May reject; then it is tried again. */
  restart(): Promise<void>
  exception(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED'): void
}

/** ms. */
export const ICE_WINDOWS = {
  /** A transport that has been disconnected this long is restarted; shorter ones heal by themselves. */
  restart: 2_000,
  /** …and this long: the application is told. */
  exception: 4_000,
  /** Time that a restart gets before the next one; doubled each time up to `longest`. */
  again: 4_000,
  longest: 30_000,
} as const

/** Watches the state of one transport and restarts ICE until it is connected again. */
export class IceRecovery {
  #state: TransportState = 'new'
  #attempts = 0
  #told = false
  readonly #timers = new Set<() => void>()

  constructor(
    private readonly clock: Clock,
    private readonly handlers: IceRecoveryHandlers,
  ) {}

  changed(state: TransportState): void {
    if (this.#state === 'closed' || state === this.#state) return
    this.#state = state
    if (state === 'connected') this.#calm()
    if (state === 'closed') this.stop()
    if (state === 'failed') this.#failed()
    if (state === 'disconnected') {
      this.#after(ICE_WINDOWS.restart, () => this.#restart())
      this.#after(ICE_WINDOWS.exception, () => this.#tell('ICE_CONNECTION_DISCONNECTED'))
    }
  }

  /** The socket is back: whatever of media did not come back with it is restarted now. */
  socketIsBack(): void {
    if (this.#state === 'failed' || this.#state === 'disconnected') this.#restart()
  }

  stop(): void {
    this.#state = 'closed'
    this.#calm()
  }

  #calm(): void {
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    this.#attempts = 0
    this.#told = false
  }

  #failed(): void {
    this.#tell('ICE_CONNECTION_FAILED')
    if (this.#attempts === 0) this.#restart()
  }

  #tell(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED'): void {
    if (this.#told || this.#state === 'connected' || this.#state === 'closed') return
    this.#told = true
    this.handlers.exception(name)
  }

  #restart(): void {
    if (this.#state === 'connected' || this.#state === 'closed') return
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
    const wait = Math.min(ICE_WINDOWS.again * 2 ** this.#attempts++, ICE_WINDOWS.longest)
    this.#after(wait, () => this.#restart())
    if (!this.#told)
      this.#after(ICE_WINDOWS.exception - ICE_WINDOWS.restart, () => this.#tell('ICE_CONNECTION_DISCONNECTED'))
    // The next timer tries again whether or not this one could be asked for.
    this.handlers.restart().catch(() => {})
  }

  #after(ms: number, task: () => void): void {
    const cancel = this.clock.after(ms, () => {
      this.#timers.delete(cancel)
      task()
    })
    this.#timers.add(cancel)
  }
}
