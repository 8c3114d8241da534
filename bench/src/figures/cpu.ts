import { readdirSync, readFileSync } from 'node:fs'
import { descendantsOf } from '@session-service/testing'

/** Length of a clock tick in /proc/<pid>/stat: Linux always reports 100 per second. */
const SECONDS_PER_TICK = 0.01

/** CPU seconds of a thread, from the text of its `schedstat`; undefined when the kernel does not count them. */
export function parseSchedstat(text: string): number | undefined {
  const [onCpu = ''] = text.trim().split(/\s+/)
  const nanoseconds = /^\d+$/.test(onCpu) ? Number(onCpu) : 0
  return nanoseconds > 0 ? nanoseconds / 1e9 : undefined
}

/** User and system seconds of a process, from the text of its `stat`. */
export function parseStat(text: string): number {
  // The name in brackets may contain any character; the state, field 3, follows the last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [utime, stime] = [fields[11], fields[12]].map(Number)
  const ticks = (utime ?? Number.NaN) + (stime ?? Number.NaN)
  if (Number.isNaN(ticks)) throw new Error(`not the stat of a process: ${text}`)
  return ticks * SECONDS_PER_TICK
}

/**
 * CPU seconds of all threads of one process. The scheduler counts nanoseconds; `stat` counts steps of 10 ms, which are
 * too coarse for short runs. The scheduler's count lacks threads that have ended, so no thread may end between two
 * readings that are compared.
 */
export function cpuSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((tid) => readThread(pid, tid))
  const exact = threads.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0)
  return exact > 0 ? exact : parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

function readThread(pid: number, tid: string): number | undefined {
  try {
    return parseSchedstat(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8'))
  } catch {
    return undefined
  }
}

/** CPU seconds of a process and all its descendants. */
export const cpuSecondsOfTree = (pid: number): number =>
  [pid, ...descendantsOf(pid).map((child) => child.pid)].reduce((sum, each) => sum + cpuSeconds(each), 0)

/** User and system seconds of a process and of its children that have ended, from the text of its `stat`. */
export function parseStatWithEnded(text: string): number {
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * SECONDS_PER_TICK
}

/**
 * CPU seconds of processes and all their descendants, including threads and children that have ended: for trees that
 * start and end many processes. In steps of 10 ms.
 */
export const cpuSecondsOfTrees = (roots: readonly number[]): number =>
  roots
    .flatMap((root) => [root, ...descendantsOf(root).map(({ pid }) => pid)])
    .reduce((sum, pid) => sum + withEnded(pid), 0)

function withEnded(pid: number): number {
  try {
    return parseStatWithEnded(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return 0
  }
}

/** Resident MiB of processes and all their descendants; shared memory counts once. */
export function megabytesOfTrees(roots: readonly number[]): number {
  const pids = roots.flatMap((root) => [root, ...descendantsOf(root).map(({ pid }) => pid)])
  return pids.reduce((sum, pid) => sum + proportionalKilobytes(pid), 0) / 1024
}

function proportionalKilobytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
