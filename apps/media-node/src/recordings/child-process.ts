import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { canDieWithUs, dyingWithUs } from '@session-service/server-kit'

/** What a program is told, so many ms after it was asked to end; the last rung is one that nothing survives. */
export interface Rung {
  afterMs: number
  signal: NodeJS.Signals
}

/** A second SIGINT frees a program that waits for input and looks for its end only between two of them. */
export const LADDER: readonly Rung[] = [
  { afterMs: 0, signal: 'SIGINT' },
  { afterMs: 300, signal: 'SIGINT' },
  { afterMs: 5_000, signal: 'SIGKILL' },
]

export interface ChildOptions {
  /** A name that is looked for in PATH, or a path. No shell reads it. */
  command: string
  args: readonly string[]
  cwd?: string
  /** Added to the few variables of the system that it gets; none of ours are passed on. */
  env?: Readonly<Record<string, string>>
  /** Each line of its standard output. */
  onLine?: (line: string) => void
  /** Gives it two descriptors more: 3, which it reads, and 4, which it writes. */
  hasChannel?: boolean
}

export interface ChildExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** In words; undefined when it was asked to end. */
  failure?: string
}

const KEPT_LINES = 20
const LONGEST_LINE = 500
/** What recording programs get of the environment of the node. */
export const RECORDER_VARIABLES =
  /^(PATH|HOME|USER|TMPDIR|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|FONTCONFIG_\w+|GST_\w+|XDG_CACHE_HOME)$/

/**
 * A program that works for this process and never outlives it: the kernel kills it with us, and its standard input
 * ends. An end that nobody asked for is a failure, whatever its exit code says.
 */
export class ChildProgram {
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  readonly #timers: NodeJS.Timeout[] = []
  /** Never rejects. */
  readonly exited: Promise<ChildExit>
  #asked = false
  #running = true
  #error: Error | undefined
  #killedBecause: string | undefined

  constructor(private readonly options: ChildOptions) {
    const [command, ...args] = dyingWithUs(options.command, options.args)
    const channel = options.hasChannel === true ? (['pipe', 'pipe'] as const) : []
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe', ...channel],
      env: { ...systemEnvironment(), ...options.env },
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      // Ctrl-C in a terminal is for us: we end it in order.
      detached: canDieWithUs,
    })
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#error = error
        // One that never ran has no other end.
        if (this.#child.pid === undefined) resolve(this.#ended(null, null))
      })
      this.#child.once('exit', () => this.#killGroup())
      // Not `exit`: what it wrote last is still to be read then.
      this.#child.once('close', (code, signal) => resolve(this.#ended(code, signal)))
    })
    this.#listen()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get running(): boolean {
    return this.#running
  }

  /** What it said last on its standard error, without credentials. */
  get lastLines(): readonly string[] {
    return this.#lines
  }

  /** The descriptors that it has beside the usual ones. */
  get channel(): { input: Writable; output: Readable } {
    const input = this.#child.stdio?.[3]
    const output = this.#child.stdio?.[4]
    if (input && output && 'write' in input && 'read' in output) return { input, output }
    throw new Error(`${this.options.command} has no channel`)
  }

  /** One line to its standard input. */
  write(line: string): void {
    if (this.#running && this.#child.stdin?.writable) this.#child.stdin.write(`${line}\n`)
  }

  /** Asks it to end, ever more firmly; `line` is what it is told first. Again: the same end. */
  stop(ladder: readonly Rung[] = LADDER, line?: string): Promise<ChildExit> {
    if (this.#asked || !this.#running) return this.exited
    this.#asked = true
    if (line !== undefined) this.write(line)
    for (const { afterMs, signal } of ladder) {
      if (afterMs === 0) this.#child.kill(signal)
      else this.#timers.push(setTimeout(() => this.#child.kill(signal), afterMs))
    }
    return this.exited
  }

  /**
   * Kills a program that hangs: a suspended one hears no other signal. That is its failure, unless it was asked to end
   * and only hung at that.
   */
  kill(because: string): void {
    if (!this.#running) return
    this.#killedBecause ??= because
    this.#child.kill('SIGKILL')
  }

  /** One that could not be given descriptors has none of these: it never ran. */
  #listen(): void {
    const { stdin, stdout, stderr } = this.#child
    // It may have gone while we write to it; its exit says so.
    stdin?.on('error', () => undefined)
    if (stderr) createInterface({ input: stderr }).on('line', (line) => this.#keep(line))
    if (stdout) createInterface({ input: stdout }).on('line', (line) => this.options.onLine?.(line))
  }

  /** What it has started and left behind holds the pipes that are read to their end. */
  #killGroup(): void {
    if (this.#child.pid === undefined || !canDieWithUs) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // Nobody is left.
    }
  }

  #keep(line: string): void {
    this.#lines.push(redact(line).slice(0, LONGEST_LINE))
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): ChildExit {
    this.#running = false
    for (const timer of this.#timers) clearTimeout(timer)
    if (this.#asked) return { code, signal }
    if (this.#killedBecause) return { code, signal, failure: `${this.options.command} ${this.#killedBecause}` }
    const how = this.#error?.message ?? (signal ? `was ended by ${signal}` : `ended with code ${code}`)
    const last = this.#lines.at(-1)
    return { code, signal, failure: `${this.options.command} ${how}${last ? `: ${last}` : ''}` }
  }
}

/** Credentials in addresses, and what looks like a token. */
export const redact = (line: string): string =>
  line
    .replace(/(\w+:\/\/)[^\s/@]+@/g, '$1…@')
    .replace(/\b(token|secret|password|authorization)(["']?\s*[=:]\s*)(bearer\s+)?[^\s&"',;]+/gi, '$1$2…')

const systemEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => RECORDER_VARIABLES.test(name)))
