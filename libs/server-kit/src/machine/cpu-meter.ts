import { readFileSync } from 'node:fs'

/** CPU time since the system started, in ticks of the kernel, summed over all processors. */
interface CpuTimes {
  idle: number
  total: number
}

/**
 * The times of the whole machine, not of this process alone: other processes reduce the capacity for media as much as
 * media does. In a container it is the load of the host.
 */
export function cpuTimes(): CpuTimes {
  return timesIn(readFileSync('/proc/stat', 'utf8'))
}

/** The first line: `os.cpus()` reads `/proc/cpuinfo` as well, for which some machines measure the clock of each processor. */
export function timesIn(stat: string): CpuTimes {
  const [user = 0, nice = 0, system = 0, idle = 0, , irq = 0] = stat
    .slice(0, stat.indexOf('\n'))
    .split(/ +/)
    .slice(1)
    .map(Number)
  return { idle, total: user + nice + system + idle + irq }
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
