import { listInWords } from './words.js'

const WAIT_MS = 700

/** Collects names that come within a moment of each other, so that they are told in one sentence. */
export class Together {
  readonly #names: string[] = []
  readonly #tell: (names: string) => void

  constructor(tell: (names: string) => void) {
    this.#tell = tell
  }

  add(name: string): void {
    if (this.#names.push(name) === 1) setTimeout(() => this.#tell(listInWords(this.#names.splice(0))), WAIT_MS)
  }
}
