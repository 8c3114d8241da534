import { NODE_SILENT_MS } from '@session-service/contract'

/**
 * Whether the node may act as a member of the cluster. A node that was suspended or partitioned for longer than masters
 * wait may have lost its rooms to other nodes. Until a master has confirmed which rooms it keeps, the node rejects
 * commands, sends no heartbeats, and holds back the events of its rooms.
 */
export class Fence {
  readonly #now: () => number
  readonly #silentMs: () => number
  /** Undefined before the first contact: a node without rooms has nothing to be confirmed. */
  #contactAt: number | undefined
  #isSilenceNoticed = false
  #isShut = false
  #shutCount = 0

  /** `now`: monotonic, ms. `silentMs`: after which silence masters consider the node lost. */
  constructor(now: () => number = () => performance.now(), silentMs: () => number = () => NODE_SILENT_MS) {
    this.#now = now
    this.#silentMs = silentMs
  }

  /** How often it was shut: an answer of a master opens the fence only if it was not shut again meanwhile. */
  get shutCount(): number {
    return this.#shutCount
  }

  /** Shuts the fence first when the last contact is too long ago. */
  isOpen(): boolean {
    if (!this.#isSilenceNoticed && this.#contactAt !== undefined && this.#now() - this.#contactAt > this.#silentMs()) {
      this.#isSilenceNoticed = true
      this.shut()
    }
    return !this.#isShut
  }

  /** Called when the bus has answered. */
  contact(): void {
    // After a suspension this may be the first call: the silence before it has to be noticed.
    this.isOpen()
    this.#contactAt = this.#now()
    this.#isSilenceNoticed = false
  }

  shut(): void {
    this.#isShut = true
    this.#shutCount += 1
  }

  /** False when the fence was shut again since `shutCount`. */
  open(shutCount: number): boolean {
    if (this.#shutCount !== shutCount) return false
    this.#isShut = false
    return true
  }
}
