import { spawn, type ChildProcess } from 'node:child_process'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { hasParentDeathSignal, withParentDeathSignal } from './parent-death-signal.js'

/** A signal that is sent some time after a program was asked to end. The last step has to be SIGKILL. */
export interface KillStep {
  afterMs: number
  signal: NodeJS.Signals
}

/** The second SIGINT ends a program that blocks on its input and checks for its end only between two reads. */
export const KILL_STEPS: readonly KillStep[] = [
  { afterMs: 0, signal: 'SIGINT' },
  { afterMs: 300, signal: 'SIGINT' },
  { afterMs: 5_000, signal: 'SIGKILL' },
]

/** The variables of this process that a child program inherits: those of the system, none of the configuration. */
export const INHERITED_VARIABLES =
  /^(PATH|HOME|USER|TMPDIR|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|FONTCONFIG_\w+|GST_\w+|XDG_CACHE_HOME)$/

export interface ChildOptions {
  /** A name that is searched in PATH, or a path. No shell interprets it. */
  command: string
  args: readonly string[]
  cwd?: string
  /** Added to the inherited variables. */
  env?: Readonly<Record<string, string>>
  /** The nice value of the process, -20 to 19. */
  niceness?: number
  /** Called with each line of standard output. */
  onLine?: (line: string) => void
  /** Opens two more descriptors: the program reads from 3 and writes to 4. */
  hasChannel?: boolean
}

export interface ChildExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** Why the program failed; undefined when it ended on request. */
  failure?: string
}

const KEPT_LINES = 20
const LONGEST_LINE = 500

/**
 * A child program that never outlives this process: the kernel kills it with its parent, and its standard input ends.
 * An exit that was not requested is a failure, whatever the exit code is.
 */
export class ChildProgram {
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #timers: NodeJS.Timeout[] = []
  /** Never rejects. */
  readonly exited: Promise<ChildExit>
  #isStopping = false
  #isRunning = true
  #error: Error | undefined
  #killReason: string | undefined
  readonly #options: ChildOptions

  constructor(options: ChildOptions) {
    this.#options = options
    const [command, ...args] = withParentDeathSignal(options.command, options.args)
    const channel = options.hasChannel === true ? (['pipe', 'pipe'] as const) : []
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe', ...channel],
      env: { ...inheritedEnvironment(), ...options.env },
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      // Ctrl-C in a terminal signals the process group of this process, which then ends the child in order.
      detached: hasParentDeathSignal,
    })
    this.#lowerPriority()
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#error = error
        // A program that did not start emits no `close`.
        if (this.#child.pid === undefined) resolve(this.#ended(null, null))
      })
      this.#child.once('exit', () => this.#killGroup())
      // Not `exit`: its last output is not read yet then.
      this.#child.once('close', (code, signal) => resolve(this.#ended(code, signal)))
    })
    this.#readOutput()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get running(): boolean {
    return this.#isRunning
  }

  /** The last lines of standard error, without credentials. */
  get lastLines(): readonly string[] {
    return this.#lines
  }

  /** The two additional descriptors. */
  get channel(): { input: Writable; output: Readable } {
    const input = this.#child.stdio?.[3]
    const output = this.#child.stdio?.[4]
    if (input && output && 'write' in input && 'read' in output) return { input, output }
    throw new Error(`${this.#options.command} has no channel`)
  }

  /** Writes one line to standard input. */
  write(line: string): void {
    if (this.#isRunning && this.#child.stdin?.writable) this.#child.stdin.write(`${line}\n`)
  }

  /** Writes `line`, then sends the signals until the program ends. A repeated call gives the same exit. */
  stop(steps: readonly KillStep[] = KILL_STEPS, line?: string): Promise<ChildExit> {
    if (this.#isStopping || !this.#isRunning) return this.exited
    this.#isStopping = true
    if (line !== undefined) this.write(line)
    for (const { afterMs, signal } of steps) {
      if (afterMs === 0) this.#child.kill(signal)
      else this.#timers.push(setTimeout(() => this.#child.kill(signal), afterMs))
    }
    return this.exited
  }

  /**
   * Kills a program that hangs; a suspended program takes no other signal. `reason` becomes its failure, unless `stop`
   * was called before.
   */
  kill(reason: string): void {
    if (!this.#isRunning) return
    this.#killReason ??= reason
    this.#child.kill('SIGKILL')
  }

  #lowerPriority(): void {
    const { niceness } = this.#options
    if (niceness === undefined || this.#child.pid === undefined) return
    try {
      setPriority(this.#child.pid, niceness)
    } catch {
      // It has already ended.
    }
  }

  /** The streams are missing when there was no descriptor left for them: such a program never ran. */
  #readOutput(): void {
    const { stdin, stdout, stderr } = this.#child
    // A write after the exit of the program fails; `exited` reports the exit.
    stdin?.on('error', () => undefined)
    if (stderr) createInterface({ input: stderr }).on('line', (line) => this.#keep(line))
    if (stdout) createInterface({ input: stdout }).on('line', (line) => this.#options.onLine?.(line))
  }

  /** Descendants of the program hold its pipes open, which are read to their end. */
  #killGroup(): void {
    if (this.#child.pid === undefined || !hasParentDeathSignal) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // The group is empty.
    }
  }

  #keep(line: string): void {
    this.#lines.push(redactOutput(line).slice(0, LONGEST_LINE))
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): ChildExit {
    this.#isRunning = false
    for (const timer of this.#timers) clearTimeout(timer)
    if (this.#isStopping) return { code, signal }
    if (this.#killReason) return { code, signal, failure: `${this.#options.command} ${this.#killReason}` }
    const outcome = this.#error?.message ?? (signal ? `was ended by ${signal}` : `ended with code ${code}`)
    const last = this.#lines.at(-1)
    return { code, signal, failure: `${this.#options.command} ${outcome}${last ? `: ${last}` : ''}` }
  }
}

/** Masks credentials in URLs and values that are named like secrets. Of a scheme, only the end is read: words may be long. */
export const redactOutput = (line: string): string =>
  line
    .replace(/(:\/\/)[^\s/@]+@/g, '$1…@')
    .replace(/\b(token|secret|password|authorization)(["']?\s*[=:]\s*)(bearer\s+)?[^\s&"',;]+/gi, '$1$2…')

const inheritedEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED_VARIABLES.test(name)))
