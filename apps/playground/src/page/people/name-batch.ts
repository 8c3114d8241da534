import { listInWords } from '../text/words.js'

const WAIT_MS = 700

/** Collects names for a short time, so that one sentence announces all of them. */
export class NameBatch {
  readonly #names: string[] = []
  readonly #announce: (names: string) => void

  constructor(announce: (names: string) => void) {
    this.#announce = announce
  }

  add(name: string): void {
    if (this.#names.push(name) === 1) setTimeout(() => this.#announce(listInWords(this.#names.splice(0))), WAIT_MS)
  }
}
