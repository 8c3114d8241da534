import { cpus, type CpuInfo } from 'node:os'

/** CPU time since the system started, ms, summed over all processors. */
interface CpuTimes {
  idle: number
  total: number
}

/**
 * Of the whole machine, not of this process alone: other processes reduce the capacity for media as much as media does.
 * In a container it is the load of the host.
 */
export function cpuTimes(processors: readonly Pick<CpuInfo, 'times'>[] = cpus()): CpuTimes {
  let idle = 0
  let total = 0
  for (const { times } of processors) {
    idle += times.idle
    total += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, total }
}

/** CPU load of the machine over the last samples, 0–100. */
export class CpuMeter {
  readonly #samples: CpuTimes[] = []
  readonly #span: number

  /** `span`: the number of intervals between samples that the load covers. */
  constructor(span: number) {
    this.#span = span
  }

  add(times: CpuTimes): void {
    this.#samples.push(times)
    if (this.#samples.length > this.#span + 1) this.#samples.shift()
  }

  /** Whether there are enough samples for a load. */
  get isMeasured(): boolean {
    return this.#samples.length > 1
  }

  get load(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.total <= first.total) return 0
    const busy = 1 - (last.idle - first.idle) / (last.total - first.total)
    // The kernel may correct idle times backwards.
    return Math.min(100, Math.max(0, busy * 100))
  }
}
