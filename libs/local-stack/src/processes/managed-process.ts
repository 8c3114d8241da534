import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { reaper } from './reaper.js'

const KEPT_LINES = 40
const STOP_TIMEOUT_MS = 10_000
const READY_TIMEOUT_MS = 60_000
const LAST_LINES_MS = 500

export type OutputLine = (line: string, stream: 'stdout' | 'stderr') => void

export interface ProcessOptions {
  /** What messages call it. */
  name: string
  command: string
  args: readonly string[]
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>
  cwd?: string
  /** The account to run under; only root may choose one. */
  account?: { uid: number; gid: number } | undefined
  /** Asks for an orderly end; SIGTERM. */
  stopSignal?: NodeJS.Signals
  /** After this many ms `stop` kills the process and what it started; 10 000. */
  stopTimeoutMs?: number
  /** `ready` rejects after this many ms; 60 000. */
  readyTimeoutMs?: number
  /** Resolves once the process serves. Asked for once, ended by the signal when the process dies or time is up. */
  whenReady: (process: ManagedProcess, signal: AbortSignal) => Promise<void>
  onLine?: OutputLine | undefined
}

/** A child process of one machine's stack: dies with its parent, ends in order, tells what it said last. */
export class ManagedProcess {
  readonly name: string
  readonly pid: number
  readonly env: Readonly<Record<string, string>>
  /** Resolves once it serves; rejects with its last words when it dies before or takes too long. */
  readonly ready: Promise<void>
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess
  readonly #options: ProcessOptions
  readonly #lines: string[] = []
  readonly #listeners = new Set<OutputLine>()
  #running = true
  #stopping: Promise<void> | undefined

  /** Resolves once the process exists, which says nothing yet of whether it serves; rejects when it cannot be started. */
  static async start(options: ProcessOptions): Promise<ManagedProcess> {
    const child = await launch(options)
    return new ManagedProcess(child.child, child.pid, options)
  }

  protected constructor(child: ChildProcess, pid: number, options: ProcessOptions) {
    this.name = options.name
    this.pid = pid
    this.env = options.env
    this.#child = child
    this.#options = options
    reaper.watch(pid, options.stopSignal ?? 'SIGTERM')
    if (options.onLine) this.#listeners.add(options.onLine)
    this.#read('stdout')
    this.#read('stderr')
    this.exited = new Promise((resolve) => {
      child.once('exit', (code) => {
        this.#running = false
        reaper.forget(pid)
        // Its last lines may still be in the pipe; a grandchild that holds the pipe must not hold us.
        setTimeout(resolve, LAST_LINES_MS, code).unref()
      })
      child.once('close', (code) => resolve(code))
    })
    this.ready = this.#watchReady()
    // Who does not wait for `ready` learns of the death from `exited`.
    this.ready.catch(() => {})
  }

  get running(): boolean {
    return this.#running
  }

  /** What it wrote last, oldest first. */
  get lastLines(): readonly string[] {
    return this.#lines
  }

  /** Hears every line from now on; returns the way out. */
  onLine(listener: OutputLine): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends it in order, by force when that takes too long. Again: the same promise. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** False when it was gone already. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): boolean {
    return this.#running && this.#child.kill(signal)
  }

  /** Kills it and all that it started and that stayed in its process group. */
  killGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch (error) {
      if (!isErrno(error, 'ESRCH')) throw error
    }
  }

  async #stop(): Promise<void> {
    this.kill(this.#options.stopSignal ?? 'SIGTERM')
    // A frozen process would never see the signal.
    this.kill('SIGCONT')
    const timer = new AbortController()
    const late = delay(this.#options.stopTimeoutMs ?? STOP_TIMEOUT_MS, 'late' as const, { signal: timer.signal })
    const first = await Promise.race([this.exited, late.catch(() => undefined)])
    timer.abort()
    if (first === 'late') this.killGroup()
    await this.exited
  }

  #read(stream: 'stdout' | 'stderr'): void {
    const source = this.#child[stream]
    if (!source) return
    createInterface({ input: source, crlfDelay: Infinity }).on('line', (line) => {
      this.#lines.push(line)
      if (this.#lines.length > KEPT_LINES) this.#lines.shift()
      for (const listener of this.#listeners) listener(line, stream)
    })
  }

  async #watchReady(): Promise<void> {
    const { whenReady, readyTimeoutMs = READY_TIMEOUT_MS } = this.#options
    const giveUp = new AbortController()
    const died = this.exited.then((code) => {
      throw new Error(`${this.name} ended before it was ready (${describeExit(code)})${this.#said()}`)
    })
    const late = delay(readyTimeoutMs, undefined, { signal: giveUp.signal }).then(() => {
      throw new Error(`${this.name} was not ready after ${readyTimeoutMs / 1000} s${this.#said()}`)
    })
    for (const loser of [died, late]) loser.catch(() => {})
    try {
      await Promise.race([whenReady(this, giveUp.signal), died, late])
    } finally {
      giveUp.abort()
    }
  }

  #said(): string {
    return this.#lines.length === 0 ? '' : `:\n${this.#lines.join('\n')}`
  }
}

export const describeExit = (code: number | null): string =>
  code === null ? 'killed by a signal' : `exit code ${code}`

/** Whether it is a system error of that code, such as ENOENT. */
export const isErrno = (error: unknown, code: string): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code

async function launch(options: ProcessOptions): Promise<{ child: ChildProcess; pid: number }> {
  const { command, args, env, cwd, account } = options
  const child = spawn(command, args, {
    env,
    cwd,
    ...(account && { uid: account.uid, gid: account.gid }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in the terminal reaches us alone, and we end the children in order.
    detached: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`${options.name} cannot be started: ${cause.message}`, { cause })))
  })
  if (child.pid === undefined) throw new Error(`${options.name} cannot be started: it has no process id`)
  return { child, pid: child.pid }
}
