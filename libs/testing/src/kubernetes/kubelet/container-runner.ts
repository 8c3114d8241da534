import { describeExit, type ManagedProcess } from '@session-service/local-stack'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container, Pod } from '../control-plane/objects.js'
import { type ActionTarget, act } from './actions.js'
import { MissingReference } from './environment.js'
import { ProbeRunner } from './probe-runner.js'

const RETRY_MS = 500
/** The kubelet begins with 10 s; a test need not wait for that. */
const FIRST_BACKOFF_MS = 1_000
const LONGEST_BACKOFF_MS = 30_000

export interface Started {
  process: ManagedProcess
  target: ActionTarget
  stopSignal: NodeJS.Signals
}

/** Starts the program of a container. @throws ImagePullError, or MissingReference while it cannot be configured */
export type StartProgram = (container: Container) => Promise<Started>

/** No program here stands for the image, or a fault hides it. */
export class ImagePullError extends Error {
  override readonly name = 'ImagePullError'
}

type State =
  | { waiting: { reason: string; message?: string } }
  | { running: { startedAt: string } }
  | { terminated: { exitCode: number; reason: string; startedAt: string; finishedAt: string } }

export interface ContainerStatus {
  name: string
  image: string
  imageID: string
  state: State
  lastState: State | Record<string, never>
  ready: boolean
  started: boolean
  restartCount: number
}

interface Options {
  container: Container
  policy: Pod['spec']['restartPolicy']
  start: StartProgram
  /** Called after every change of the status. */
  changed: () => void
  /** A fault: whether the readiness probe fails whatever it finds. */
  isHeldUnready: () => boolean
}

/** Runs a container: starts its program, probes it, and starts it again by the restart policy. */
export class ContainerRunner {
  readonly status: ContainerStatus
  readonly #options: Options
  readonly #ended = new AbortController()
  #current: Started | undefined
  #probes: ProbeRunner | undefined

  constructor(options: Options) {
    this.#options = options
    const { name, image } = options.container
    this.status = {
      name,
      image,
      imageID: image,
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: {},
      ready: false,
      started: false,
      restartCount: 0,
    }
  }

  /** Resolves to the last exit code when the container does not start again; undefined when it never ran. */
  async run(): Promise<number | undefined> {
    let code: number | undefined
    for (let backoff = FIRST_BACKOFF_MS; ; backoff = Math.min(backoff * 2, LONGEST_BACKOFF_MS)) {
      const started = await this.#startOnce()
      if (!started) return code
      code = await this.#watch(started)
      const { policy } = this.#options
      if (this.#ended.signal.aborted || policy === 'Never' || (policy === 'OnFailure' && code === 0)) return code
      this.status.lastState = this.status.state
      this.#set({ waiting: { reason: 'CrashLoopBackOff', message: `back-off ${backoff} ms after exit code ${code}` } })
      if (!(await this.#pause(backoff))) return code
      this.status.restartCount++
    }
  }

  /** The hook, the stop signal, and after the rest of the grace period SIGKILL. */
  async stop(graceMs: number): Promise<void> {
    this.#ended.abort()
    const current = this.#current
    if (!current) return
    const deadline = performance.now() + graceMs
    const left = (): number => Math.max(0, deadline - performance.now())
    const hook = this.#options.container.lifecycle?.preStop
    if (hook) await act(hook, current.target, left())
    current.process.kill(current.stopSignal)
    await endWithin(current.process, left())
  }

  /** Ends it as the loss of its machine does. */
  kill(): void {
    this.#ended.abort()
    this.#current?.process.killGroup()
  }

  get pid(): number | undefined {
    return this.#current?.process.running ? this.#current.process.pid : undefined
  }

  async #startOnce(): Promise<Started | undefined> {
    for (let attempt = 0; !this.#ended.signal.aborted; attempt++) {
      try {
        const started = (this.#current = await this.#options.start(this.#options.container))
        // The container was stopped while it started.
        if (this.#ended.signal.aborted) started.process.killGroup()
        return started
      } catch (error) {
        this.#set({ waiting: { reason: waitingReason(error, attempt), message: messageOf(error) } })
      }
      if (!(await this.#pause(RETRY_MS))) return undefined
    }
    return undefined
  }

  async #watch({ process, target }: Started): Promise<number> {
    const { container, isHeldUnready } = this.#options
    const startedAt = now()
    this.#set({ running: { startedAt } })
    const probes = (this.#probes = new ProbeRunner(container, target, {
      started: () => this.#mark('started', true),
      ready: (isReady) => this.#mark('ready', isReady),
      failed: () => void this.#restart(process),
      isHeldUnready,
    }))
    probes.start()
    const exit = await process.exited
    probes.stop()
    this.#probes = undefined
    this.status.ready = false
    this.status.started = false
    const exitCode = exit ?? 137
    const reason = exitCode === 0 ? 'Completed' : `Error (${describeExit(exit)})`
    this.#set({ terminated: { exitCode, reason: reason.split(' ')[0] ?? '', startedAt, finishedAt: now() } })
    return exitCode
  }

  async #restart(process: ManagedProcess): Promise<void> {
    this.#probes?.stop()
    process.kill(this.#current?.stopSignal ?? 'SIGTERM')
    await endWithin(process, FIRST_BACKOFF_MS * 10)
  }

  #mark(name: 'started' | 'ready', value: boolean): void {
    if (this.status[name] === value) return
    this.status[name] = value
    this.#options.changed()
  }

  #set(state: State): void {
    this.status.state = state
    this.#options.changed()
  }

  /** False when the container was stopped meanwhile. */
  async #pause(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: this.#ended.signal }).catch(() => {})
    return !this.#ended.signal.aborted
  }
}

async function endWithin(process: ManagedProcess, ms: number): Promise<void> {
  const timer = setTimeout(() => process.killGroup(), ms)
  await process.exited
  clearTimeout(timer)
}

function waitingReason(error: unknown, attempt: number): string {
  if (error instanceof ImagePullError) return attempt === 0 ? 'ErrImagePull' : 'ImagePullBackOff'
  return error instanceof MissingReference ? 'CreateContainerConfigError' : 'RunContainerError'
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
export const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')
