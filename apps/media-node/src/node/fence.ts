import { NODE_SILENT_MS } from '@session-service/contract'

/**
 * Whether the node may take itself for a member of the cluster. One that was frozen or cut off for as long as masters
 * wait may have been given up meanwhile, its rooms may live elsewhere: until a master has told it which of them are
 * still its own it takes no commands, sends no heartbeats, and what its rooms say is not told.
 */
export class Fence {
  readonly #now: () => number
  /** Undefined until it was in touch for the first time: who holds nothing yet has nothing to be told. */
  #contactAt: number | undefined
  #noticed = false
  #shut = false
  #times = 0

  /** `now` in ms, by a clock that is never set. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** How often it was shut: what a master says counts for the shutting that it was asked after. */
  get times(): number {
    return this.#times
  }

  /** Looks whether the node has been out of touch for too long; false when it is shut. */
  isOpen(): boolean {
    if (!this.#noticed && this.#contactAt !== undefined && this.#now() - this.#contactAt > NODE_SILENT_MS) {
      this.#noticed = true
      this.shut()
    }
    return !this.#shut
  }

  /** The bus answered. */
  contact(): void {
    // A process that was frozen may hear of the contact before anything else that makes it look.
    this.isOpen()
    this.#contactAt = this.#now()
    this.#noticed = false
  }

  shut(): void {
    this.#shut = true
    this.#times += 1
  }

  /** False when it was shut again since. */
  open(times: number): boolean {
    if (this.#times !== times) return false
    this.#shut = false
    return true
  }
}
