import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

const LINES = 3
const LONGEST_LINE = 300
/** Assertions print where they are in a program, which explains nothing. */
const NOISE = /^\s*at |^\s*$|^(LOG|VLOG|WARNING) \(|stack-trace|^Aborted|^Node\.js v/i

/** The last lines that a program wrote. */
export class LastLines {
  readonly #lines: string[] = []

  constructor(output: Readable | null) {
    if (output) createInterface({ input: output }).on('line', (line) => this.#keep(line))
  }

  get text(): string {
    return this.#lines.join(' ')
  }

  #keep(line: string): void {
    if (NOISE.test(line)) return
    this.#lines.push(line.trim().slice(0, LONGEST_LINE))
    if (this.#lines.length > LINES) this.#lines.shift()
  }
}
