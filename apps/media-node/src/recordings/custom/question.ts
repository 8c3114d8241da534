import { z } from 'zod'
import type { DevTools } from './dev-tools.js'

/** A call that is repeated to see whether the browser or its page still answers. */
export class Question {
  #asked = 0
  #answers = 0

  constructor(
    private readonly tools: DevTools,
    private readonly method: string,
    private readonly params: object = {},
  ) {}

  get answers(): number {
    return this.#answers
  }

  /** The answer to the last call may be on its way. */
  get isAnswered(): boolean {
    return this.#asked - this.#answers <= 1
  }

  ask(): void {
    this.#asked++
    // An error is an answer too.
    const answered = (): void => void this.#answers++
    void this.tools.call(this.method, this.params, z.unknown()).then(answered, answered)
  }
}
