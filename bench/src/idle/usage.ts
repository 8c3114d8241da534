import { readdirSync, readFileSync } from 'node:fs'
import { descendantsOf } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'

/** Since the start of processes. */
interface Used {
  cpuSeconds: number
  /** How often a thread went on after it had waited. */
  wakeUps: number
}
/** By process id. */
type Usage = ReadonlyMap<number, Used>

/** The waits of a thread, from the text of its `status`. */
export const parseWaits = (text: string): number => Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(text)?.[1] ?? 0)

/** The usage of a process and all its descendants. */
export function readUsage(root: number): Usage {
  const pids = [root, ...descendantsOf(root).map(({ pid }) => pid)]
  return new Map(pids.flatMap((pid) => readProcess(pid)))
}

/** Processes that have ended since do not count. */
export function usedSince(before: Usage, after: Usage): Used {
  const used = { cpuSeconds: 0, wakeUps: 0 }
  for (const [pid, now] of after) {
    used.cpuSeconds += now.cpuSeconds - (before.get(pid)?.cpuSeconds ?? 0)
    used.wakeUps += now.wakeUps - (before.get(pid)?.wakeUps ?? 0)
  }
  return used
}

/** Nothing for a process that ends meanwhile. */
function readProcess(pid: number): [number, Used][] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const waits = threads.map((tid) => parseWaits(readFileSync(`/proc/${pid}/task/${tid}/status`, 'utf8')))
    return [[pid, { cpuSeconds: cpuSeconds(pid), wakeUps: waits.reduce((sum, each) => sum + each, 0) }]]
  } catch {
    return []
  }
}
