// The processors of a pod, as if its machine ran nothing but this program: all pods share the processors of one machine,
// and the load of other programs on it would count once for each media node.
import os, { type CpuInfo } from 'node:os'

const { cpus } = os
const MICROSECONDS = 1_000

/** Times since the start of this program, spread over all processors. */
export function ownProcessors(): CpuInfo[] {
  const used = process.cpuUsage()
  const processors = cpus()
  const spread = (micros: number): number => micros / MICROSECONDS / processors.length
  const [user, sys] = [spread(used.user), spread(used.system)]
  const idle = Math.max(0, performance.now() - user - sys)
  return processors.map((each) => ({ ...each, times: { user, sys, idle, nice: 0, irq: 0 } }))
}
