import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the range from which systems take the ports of outgoing connections, so that none slips in between. */
const FIRST = 10_000
const LAST = 32_000
const TCP_LISTEN = '0A'

/** The share of those who run side by side under TEST_LANE, `<lane>/<lanes>`: no lane takes what another has just found free. */
export function portRange(lane = process.env.TEST_LANE): { first: number; end: number } {
  const [, own = 1, of = 1] = (/^(\d+)\/(\d+)$/.exec(lane ?? '') ?? []).map(Number)
  const share = Math.floor((LAST - FIRST) / of)
  return { first: FIRST + (own - 1) * share, end: FIRST + own * share }
}

/** What this process has looked at for somebody: those who ask at the same time do not get the same. */
const given = new Set<number>()

/** Ports that were free on TCP and UDP a moment ago and that nobody else in this process gets; nothing holds them. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const { first, end } = portRange()
  const found: number[] = []
  for (let tries = 0; found.length < count; tries++) {
    if (tries > 1_000) throw new Error(`no ${count} free ports between ${first} and ${end}`)
    const port = randomInt(first, end)
    if (given.has(port)) continue
    given.add(port)
    if ((await isFree(port, host)) && (await canBind(port, host))) found.push(port)
  }
  return found
}

/** The first free port of `wanted`, `wanted` + 1, … */
export async function freePortFrom(
  wanted: number,
  host = '127.0.0.1',
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  for (let port = wanted; port < wanted + 100; port++) {
    if (!taken.has(port) && (await isFree(port, host))) return port
  }
  throw new Error(`no free port from ${wanted} to ${wanted + 99}`)
}

/** Whether a TCP server could listen there now. */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

function canBind(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    socket.once('error', () => resolve(false))
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(true)))
  })
}

/** Who listens on a TCP port, in words: `process 123 (java -jar x.jar)`; "another process" when the system does not tell. */
export function portHolder(port: number): string {
  const inodes = listeningInodes(port)
  const pid = inodes.size === 0 ? undefined : findSocketOwner(inodes)
  if (pid === undefined) return 'another process'
  return `process ${pid} (${commandLine(pid)})`
}

/** The sockets that listen on `port`, from the kernel's tables; empty where there are none. */
export function listeningInodes(port: number, tables = ['/proc/net/tcp', '/proc/net/tcp6'].map(readText)): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = tables.flatMap((table) => table.split('\n').slice(1)).map((row) => row.trim().split(/\s+/))
  return new Set(rows.flatMap((row) => (row[1]?.endsWith(suffix) && row[3] === TCP_LISTEN && row[9] ? [row[9]] : [])))
}

function findSocketOwner(inodes: ReadonlySet<string>): number | undefined {
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  return listFolder('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => listFolder(`/proc/${pid}/fd`).some((fd) => links.has(readLink(`/proc/${pid}/fd/${fd}`))))
}

function commandLine(pid: number): string {
  const words = readText(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()
  return words.length > 100 ? `${words.slice(0, 100)}…` : words
}

/** What /proc shows comes and goes with the processes: gone is as good as empty. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export function readLink(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
