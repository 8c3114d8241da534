import { setTimeout as delay } from 'node:timers/promises'
import type { AppProcess } from '@session-service/local-stack'

const INTERVAL_MS = 200
const TIMEOUT_MS = 4_000

/** Polls the liveness probe of each process and records every answer other than 200. */
export class HealthWatch {
  /** `master1: 503`, `master1: no answer` */
  readonly failures: string[] = []
  /** Processes that have been ready; one that starts may block its event loop with the load of its modules. */
  readonly #started = new WeakSet<AppProcess>()
  readonly #exempt = new Set<string>()
  readonly #stop = new AbortController()
  readonly #polling: Promise<void>

  constructor(processes: () => readonly AppProcess[]) {
    this.#polling = this.#run(processes)
  }

  /** Stops polling a process that the test case kills, freezes or blocks. */
  exempt(process: AppProcess): void {
    this.#exempt.add(process.name)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#polling
  }

  async #run(processes: () => readonly AppProcess[]): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await Promise.all(processes().map((process) => this.#poll(process)))
      await delay(INTERVAL_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined)
    }
  }

  async #poll(process: AppProcess): Promise<void> {
    const { name, opsUrl } = process
    const isWatched = (): boolean => process.running && !this.#exempt.has(name)
    if (!isWatched()) return
    if (!this.#started.has(process)) return this.#awaitStart(process)
    const status = await statusOf(`${opsUrl}/healthz`)
    if (status !== 200 && isWatched()) this.failures.push(`${name}: ${status ?? 'no answer'}`)
  }

  async #awaitStart(process: AppProcess): Promise<void> {
    const isReady = await Promise.race([
      process.ready.then(
        () => true,
        () => false,
      ),
      delay(0, false),
    ])
    if (isReady) this.#started.add(process)
  }
}

/** Returns the HTTP status, or undefined without an answer. */
export async function statusOf(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    await answer.body?.cancel()
    return answer.status
  } catch {
    return undefined
  }
}
