import { readFile, readdir, readlink } from 'node:fs/promises'
import type { FeedPorts } from '../../tap/plain-rtp-tap.js'

/** Below what systems give out for outgoing connections. */
const FIRST = 20_000
const LAST = 32_000

/** Those in use by programs of ours: two of them never try the same. */
const taken = new Set<number>()

/** A pair for RTP and RTCP; whether they are free elsewhere shows when the program opens them. */
export function takePorts(): FeedPorts {
  for (;;) {
    const rtp = FIRST + 2 * Math.floor((Math.random() * (LAST - FIRST)) / 2)
    if (taken.has(rtp)) continue
    taken.add(rtp)
    return { rtp, rtcp: rtp + 1 }
  }
}

export const releasePorts = ({ rtp }: FeedPorts): boolean => taken.delete(rtp)

/** Whether the process itself has all these UDP ports open; undefined where the system does not tell. */
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

/** Empty where it can not be read now: whoever waits looks again. */
const udpTable = (): Promise<string> => readFile('/proc/net/udp', 'utf8').catch(() => '')

async function descriptorsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')))
}
