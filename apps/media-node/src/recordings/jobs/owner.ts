import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'

/** Identifies a process, also after its pid is reused. */
export const Owner = z.object({
  host: z.string(),
  /** The namespace of the pid: containers may share a host name. */
  pids: z.string().default(''),
  pid: z.number().int(),
  since: z.string(),
})
export type Owner = z.infer<typeof Owner>

export const isSameProcess = (one: Owner, other: Owner): boolean =>
  one.host === other.host && one.pids === other.pids && one.pid === other.pid && one.since === other.since

/** Undefined for a process of another host or pid namespace. */
export const isAliveHere = ({ host, pids, pid, since }: Owner): boolean | undefined =>
  host === SELF.host && pids === SELF.pids ? startOf(pid) === since : undefined

/** The start of the process in kernel ticks; without /proc, whether it lives. */
function startOf(pid: number): string {
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

/** The boot id of the kernel and the pid namespace; empty without /proc. */
function pidsHere(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

/** This process. */
export const SELF: Owner = { host: hostname(), pids: pidsHere(), pid: process.pid, since: startOf(process.pid) }
