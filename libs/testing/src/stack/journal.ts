import type { OutputLine } from '@session-service/local-stack'

const KEPT_LINES = 50_000

/** What the processes of a stack wrote. With TEST_LOG set it is shown as it comes. */
export class Journal {
  readonly lines: string[] = []

  writer(name: string): OutputLine {
    return (line) => {
      this.lines.push(`${name} ${line}`)
      if (this.lines.length > KEPT_LINES) this.lines.shift()
      if (process.env.TEST_LOG) process.stderr.write(`${name} ${line}\n`)
    }
  }

  /** The lines that hold the text or match the pattern. */
  find(wanted: string | RegExp): string[] {
    return this.lines.filter((line) => (typeof wanted === 'string' ? line.includes(wanted) : wanted.test(line)))
  }
}
