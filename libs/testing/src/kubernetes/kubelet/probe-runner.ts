import { budgetMs } from '@session-service/local-stack'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container, Probe } from '../control-plane/objects.js'
import { type ActionTarget, act } from './actions.js'
import { addResult, newProbeState } from './probe-state.js'

interface Listener {
  started(): void
  ready(isReady: boolean): void
  /** The startup or the liveness probe failed: the container has to restart. */
  failed(): void
  isHeldUnready(): boolean
}

/** Runs the probes of a container: the startup probe first, then the others side by side. */
export class ProbeRunner {
  readonly #stopped = new AbortController()
  readonly #container: Container
  readonly #target: ActionTarget
  readonly #listener: Listener

  constructor(container: Container, target: ActionTarget, listener: Listener) {
    this.#container = container
    this.#target = target
    this.#listener = listener
  }

  start(): void {
    void this.#run()
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #run(): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.#container
    const { signal } = this.#stopped
    if (startupProbe && !(await this.#untilJudged(startupProbe))) {
      if (!signal.aborted) this.#listener.failed()
      return
    }
    this.#listener.started()
    if (livenessProbe) void this.#repeat(livenessProbe, (passes) => !passes && this.#listener.failed())
    const ready = (passes: boolean): void => this.#listener.ready(passes && !this.#listener.isHeldUnready())
    if (readinessProbe) void this.#repeat(readinessProbe, ready)
    else ready(true)
  }

  async #untilJudged(probe: Probe): Promise<boolean> {
    let judgement: boolean | undefined
    await this.#repeat(probe, (passes) => {
      judgement = passes
      return true
    })
    return judgement ?? false
  }

  /** Calls `judged` after every result that makes a judgement, until that returns true. */
  async #repeat(probe: Probe, judged: (passes: boolean) => unknown): Promise<void> {
    const { signal } = this.#stopped
    let state = newProbeState()
    await pause(probe.initialDelaySeconds * 1000, signal)
    while (!signal.aborted) {
      const isSuccess = await act(probe, this.#target, budgetMs(probe.timeoutSeconds * 1000))
      if (signal.aborted) return
      state = addResult(state, isSuccess, probe)
      if (state.passes !== undefined && judged(state.passes) === true) return
      await pause(probe.periodSeconds * 1000, signal)
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {})
