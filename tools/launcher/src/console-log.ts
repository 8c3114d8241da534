import type { OutputLine } from '@session-service/local-stack'
import { type Level, LEVELS, readLogLine } from './log-line.js'

const NAME_WIDTH = 12
/** Cyan, magenta, blue, green, and their bright variants: easy to distinguish, and not colours of errors or warnings. */
const NAME_COLOURS = [36, 35, 34, 32, 96, 95, 94, 92]
const LEVEL_COLOUR: Readonly<Partial<Record<Level, number>>> = { fatal: 31, error: 31, warn: 33, debug: 2, trace: 2 }

interface ConsoleLogOptions {
  level: Level
  colours: boolean
  write: (text: string) => void
  now?: () => Date
}

/** Writes the output of all processes in columns: time, coloured name, text. */
export class ConsoleLog {
  readonly #names: string[] = []
  readonly #options: ConsoleLogOptions

  constructor(options: ConsoleLogOptions) {
    this.#options = options
  }

  /** Returns the output listener of one process. */
  writer(name: string): OutputLine {
    return (line) => {
      if (line.trim() === '') return
      const { level, text, details } = readLogLine(name, line)
      this.line(name, level, text, details)
    }
  }

  line(name: string, level: Level, text: string, details = ''): void {
    if (LEVELS.indexOf(level) > LEVELS.indexOf(this.#options.level)) return
    // oxlint-disable-next-line clock/no-wall-clock -- the time that the user reads on the same computer
    const time = (this.#options.now?.() ?? new Date()).toTimeString().slice(0, 8)
    const colour = LEVEL_COLOUR[level]
    const body = colour === undefined ? text : this.paint(colour, text)
    this.#options.write(`${this.paint(2, time)} ${this.#label(name)} ${body}\n${details === '' ? '' : `${details}\n`}`)
  }

  /** Writes a line of the launcher, at any log level. */
  print(text: string): void {
    this.#options.write(`${text}\n`)
  }

  paint(colour: number, text: string): string {
    return this.#options.colours ? `\u001B[${colour}m${text}\u001B[0m` : text
  }

  #label(name: string): string {
    if (!this.#names.includes(name)) this.#names.push(name)
    const colour = NAME_COLOURS[this.#names.indexOf(name) % NAME_COLOURS.length] ?? 0
    return this.paint(colour, name.padEnd(NAME_WIDTH))
  }
}
