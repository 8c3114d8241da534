import { setTimeout as delay } from 'node:timers/promises'
import type { AppProcess } from '@session-service/local-stack'

const EVERY_MS = 200
const PATIENCE_MS = 4_000

/** Asks each process for its liveness again and again; what else than 200 it answered is kept. */
export class HealthWatch {
  /** `master1: 503`, `master1: no answer` */
  readonly failures: string[] = []
  /** Processes that have been seen alive: one that is starting owes no answer yet. */
  readonly #alive = new Set<number>()
  readonly #exempt = new Set<string>()
  readonly #stop = new AbortController()
  readonly #under: Promise<void>

  constructor(processes: () => readonly AppProcess[]) {
    this.#under = this.#run(processes)
  }

  /** Nothing is asked of it from now on: the case kills, freezes or blocks that very process. */
  exempt(process: AppProcess): void {
    this.#exempt.add(process.name)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#under
  }

  async #run(processes: () => readonly AppProcess[]): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await Promise.all(processes().map((process) => this.#ask(process)))
      await delay(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined)
    }
  }

  async #ask(process: AppProcess): Promise<void> {
    const { name, pid, opsUrl } = process
    const isAsked = (): boolean => process.running && !this.#exempt.has(name)
    if (!isAsked()) return
    const status = await statusOf(`${opsUrl}/healthz`)
    if (status === 200) this.#alive.add(pid)
    else if (isAsked() && this.#alive.has(pid)) this.failures.push(`${name}: ${status ?? 'no answer'}`)
  }
}

/** Undefined when nothing answers. */
export async function statusOf(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) })
    await answer.body?.cancel()
    return answer.status
  } catch {
    return undefined
  }
}
