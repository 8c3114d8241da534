import { readFile, readdir, readlink } from 'node:fs/promises'
import type { RtpPorts } from '../../tap/plain-rtp-tap.js'

/** Below the ephemeral ports of operating systems. */
const FIRST = 20_000
const LAST = 32_000

/** Ports that programs of this node use or try. */
const taken = new Set<number>()

/** A pair for RTP and RTCP. Another process may use them: that shows when the program opens them. */
export function allocatePorts(): RtpPorts {
  for (;;) {
    const rtp = FIRST + 2 * Math.floor((Math.random() * (LAST - FIRST)) / 2)
    if (taken.has(rtp)) continue
    taken.add(rtp)
    return { rtp, rtcp: rtp + 1 }
  }
}

export const releasePorts = ({ rtp }: RtpPorts): boolean => taken.delete(rtp)

/** Whether the process has all these UDP ports open; undefined on systems without /proc. */
export async function hasOpen(pid: number, ports: readonly number[]): Promise<boolean | undefined> {
  if (process.platform !== 'linux') return undefined
  const [table, links] = await Promise.all([udpTable(), descriptorsOf(pid)])
  const own = new Set(links.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1]))
  const open = new Set<number>()
  for (const line of table.split('\n').slice(1)) {
    const [, local = '', , , , , , , , inode] = line.trim().split(/\s+/)
    if (own.has(inode)) open.add(Number.parseInt(local.split(':')[1] ?? '', 16))
  }
  return ports.every((port) => open.has(port))
}

/** Empty when it cannot be read: the caller polls. */
const udpTable = (): Promise<string> => readFile('/proc/net/udp', 'utf8').catch(() => '')

async function descriptorsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')))
}
