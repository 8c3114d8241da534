import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CHECK_MS = 60_000
/** Share of the time between two checks: with more, the pause of a collection would delay others. */
const MOST_UTILIZATION = 0.05
/** Least growth of the heap since the last collection, as a factor. */
const LEAST_GROWTH = 1.25

interface HeapSample {
  /** Share of the time since the last check in which the event loop was busy, 0 to 1. */
  utilization: number
  /** Memory that V8 holds for the heap. */
  heapBytes: number
  /** After the last collection of this kind; 0 before the first one. */
  keptBytes: number
}

export const isCollectionDue = ({ utilization, heapBytes, keptBytes }: HeapSample): boolean =>
  utilization <= MOST_UTILIZATION && heapBytes >= keptBytes * LEAST_GROWTH

/**
 * Collects the garbage of this process while it is idle: V8 does so only when a process allocates, and until then holds
 * the memory that the start or a peak has needed.
 */
export function collectWhenIdle(checkMs: number = CHECK_MS): void {
  let keptBytes = 0
  let last = performance.eventLoopUtilization()
  const check = (): void => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (!isCollectionDue({ utilization, heapBytes: process.memoryUsage().heapTotal, keptBytes })) return
    collectGarbage()
    keptBytes = process.memoryUsage().heapTotal
  }
  setInterval(check, checkMs).unref()
}

/**
 * Takes 0.1 to 0.2 s of CPU time. The flavor also drops the caches of the compiler and returns the pages that V8 keeps for
 * later. Contexts that are created while the flag is set have the function.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
