import { AlignedInterval } from '@session-service/server-kit'

const EVERY_MS = 1_000
const WITHOUT_CLIENTS_MS = 10_000

/** The periodic check of client sockets: each second while there are clients, and seldom without. */
export class SocketChecks {
  readonly #interval: AlignedInterval

  /** `check` returns whether there are clients. */
  constructor(check: () => boolean) {
    this.#interval = new AlignedInterval(
      () => this.#interval.every(check() ? EVERY_MS : WITHOUT_CLIENTS_MS),
      WITHOUT_CLIENTS_MS,
    )
  }

  /** To be called for each new client. */
  accepted(): void {
    this.#interval.every(EVERY_MS)
  }

  stop(): void {
    this.#interval.stop()
  }
}
