import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'

/** A process, also when its id is used again. */
export const Owner = z.object({
  host: z.string(),
  /** Within which the id of a process says who it is: containers may share the name of a host. */
  pids: z.string().default(''),
  pid: z.number().int(),
  since: z.string(),
})
export type Owner = z.infer<typeof Owner>

export const isSame = (one: Owner, other: Owner): boolean =>
  one.host === other.host && one.pids === other.pids && one.pid === other.pid && one.since === other.since

/** Undefined for a process whose id says nothing here. */
export const livesHere = ({ host, pids, pid, since }: Owner): boolean | undefined =>
  host === SELF.host && pids === SELF.pids ? sinceWhen(pid) === since : undefined

/** When the process started, in the kernel's ticks; where the kernel does not tell, whether it lives. */
function sinceWhen(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    if (process.platform === 'linux') return 'gone'
  }
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch {
    return 'gone'
  }
}

/** Of this run of this machine's kernel, and of the container; where the kernel does not tell the host's name is enough. */
function pidsHere(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

/** This process. */
export const SELF: Owner = { host: hostname(), pids: pidsHere(), pid: process.pid, since: sinceWhen(process.pid) }
