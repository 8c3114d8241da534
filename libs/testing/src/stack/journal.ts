import type { OutputLine } from '@session-service/local-stack'

const KEPT_LINES = 50_000

/** The output of all processes of a stack. TEST_LOG also prints it immediately. */
export class Journal {
  readonly lines: string[] = []

  writer(name: string): OutputLine {
    return (line) => {
      this.lines.push(`${name} ${line}`)
      if (this.lines.length > KEPT_LINES) this.lines.shift()
      if (process.env.TEST_LOG) process.stderr.write(`${name} ${line}\n`)
    }
  }

  /** The lines that contain the text or match the pattern. */
  find(wanted: string | RegExp): string[] {
    return this.lines.filter((line) => (typeof wanted === 'string' ? line.includes(wanted) : wanted.test(line)))
  }
}
