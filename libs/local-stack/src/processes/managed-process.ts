import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { reaper } from './reaper.js'

const KEPT_LINES = 40
const STOP_TIMEOUT_MS = 10_000
const READY_TIMEOUT_MS = 60_000
const LAST_OUTPUT_MS = 500

export type OutputLine = (line: string, stream: 'stdout' | 'stderr') => void

export interface ProcessOptions {
  /** The name in messages. */
  name: string
  command: string
  args: readonly string[]
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>
  cwd?: string
  /** The account to run under; only root may choose one. */
  account?: { uid: number; gid: number } | undefined
  /** Signal for a graceful shutdown; SIGTERM by default. */
  stopSignal?: NodeJS.Signals
  /** Time limit of a graceful shutdown, ms; afterwards `stop` kills the process group; 10 000 by default. */
  stopTimeoutMs?: number
  /** Time limit of `ready`, ms; 60 000 by default. */
  readyTimeoutMs?: number
  /** Resolves when the process is ready. Called once; the signal is aborted when the process exits or the time limit passes. */
  whenReady: (process: ManagedProcess, signal: AbortSignal) => Promise<void>
  onLine?: OutputLine | undefined
}

/** A child process of a local stack. It ends with its parent, stops gracefully and keeps its last output lines. */
export class ManagedProcess {
  readonly name: string
  readonly pid: number
  readonly env: Readonly<Record<string, string>>
  /** Resolves when the process is ready; rejects with its last lines when it exits before or the time limit passes. */
  readonly ready: Promise<void>
  /** The exit code; null after a signal. */
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess
  readonly #options: ProcessOptions
  readonly #lines: string[] = []
  readonly #listeners = new Set<OutputLine>()
  #running = true
  #isKilled = false
  #stopping: Promise<void> | undefined

  /** Resolves when the process exists, before it is ready; rejects when it cannot be started. */
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
        // The pipe may still contain its last lines, but a grandchild may keep the pipe open.
        setTimeout(resolve, LAST_OUTPUT_MS, code).unref()
      })
      child.once('close', (code) => resolve(code))
    })
    this.ready = this.#watchReady()
    // A caller that does not await `ready` uses `exited`.
    this.ready.catch(() => {})
  }

  get running(): boolean {
    return this.#running
  }

  /** The last output lines, oldest first. */
  get lastLines(): readonly string[] {
    return this.#lines
  }

  /** Calls the listener with every further line; returns a function that removes it. */
  onLine(listener: OutputLine): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops it gracefully, by SIGKILL after the time limit. A repeated call returns the same promise. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** False when it has already exited. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): boolean {
    const isSent = this.#running && this.#child.kill(signal)
    if (isSent && signal === 'SIGKILL') this.#isKilled = true
    return isSent
  }

  /** Whether it exits soon: SIGKILL was sent. */
  get killed(): boolean {
    return this.#isKilled
  }

  /** Kills its process group: the process and its descendants that stayed in the group. */
  killGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch (error) {
      if (!isErrno(error, 'ESRCH')) throw error
    }
  }

  async #stop(): Promise<void> {
    this.kill(this.#options.stopSignal ?? 'SIGTERM')
    // A suspended process would not receive the signal.
    this.kill('SIGCONT')
    const timer = setTimeout(() => this.killGroup(), this.#options.stopTimeoutMs ?? STOP_TIMEOUT_MS)
    await this.exited
    clearTimeout(timer)
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
    const timer = new AbortController()
    const exitedEarly = this.exited.then((code) => {
      throw new Error(`${this.name} exited before it was ready (${describeExit(code)})${this.#lastOutput()}`)
    })
    const expired = sleep(readyTimeoutMs, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`${this.name} was not ready after ${readyTimeoutMs / 1000} s${this.#lastOutput()}`)
    })
    for (const unused of [exitedEarly, expired]) unused.catch(() => {})
    try {
      await Promise.race([whenReady(this, timer.signal), exitedEarly, expired])
    } finally {
      timer.abort()
    }
  }

  #lastOutput(): string {
    return this.#lines.length === 0 ? '' : `:\n${this.#lines.join('\n')}`
  }
}

export const describeExit = (code: number | null): string =>
  code === null ? 'killed by a signal' : `exit code ${code}`

/** Checks whether an error of the operating system has this code, such as ENOENT. */
export const isErrno = (error: unknown, code: string): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code

async function launch(options: ProcessOptions): Promise<{ child: ChildProcess; pid: number }> {
  const { command, args, env, cwd, account } = options
  const child = spawn(command, args, {
    env,
    cwd,
    ...(account && { uid: account.uid, gid: account.gid }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A separate process group: Ctrl-C in a terminal signals only this process, which stops its children in order.
    detached: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`${options.name} cannot be started: ${cause.message}`, { cause })))
  })
  if (child.pid === undefined) throw new Error(`${options.name} cannot be started: no process id`)
  return { child, pid: child.pid }
}
