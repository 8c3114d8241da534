import { cpus, type CpuInfo } from 'node:os'

/** Processor time since the system started, ms summed over all processors. */
export interface CpuTimes {
  idle: number
  total: number
}

/**
 * The whole machine's, not this process' alone: what else runs here leaves as little room for media as media does.
 * In a container it is the host's, too.
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

/** Share of the machine's processors in use over the last few samples, 0–100. */
export class CpuMeter {
  readonly #samples: CpuTimes[] = []

  /** `span`: over how many intervals between samples the load is taken. */
  constructor(private readonly span: number) {}

  add(times: CpuTimes): void {
    this.#samples.push(times)
    if (this.#samples.length > this.span + 1) this.#samples.shift()
  }

  get load(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.total <= first.total) return 0
    const busy = 1 - (last.idle - first.idle) / (last.total - first.total)
    // Systems correct their idle times backwards now and then.
    return Math.min(100, Math.max(0, busy * 100))
  }
}
