import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the range of ephemeral ports, so that no outgoing connection takes a port that was just found free. */
const FIRST = 10_000
const LAST = 32_000
const TCP_LISTEN = '0A'

/** The ports of one test lane, `TEST_LANE=<lane>/<lanes>`, so that no lane takes a port that another has just found free. */
export function portRange(lane = process.env.TEST_LANE): { first: number; end: number } {
  const [, own = 1, of = 1] = (/^(\d+)\/(\d+)$/.exec(lane ?? '') ?? []).map(Number)
  const share = Math.floor((LAST - FIRST) / of)
  return { first: FIRST + (own - 1) * share, end: FIRST + own * share }
}

/** Ports that this process has already tried, so that concurrent callers get different ones. */
const tried = new Set<number>()

/** Ports that are free on TCP and UDP, different for each caller in this process. They are not reserved. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const { first, end } = portRange()
  const found: number[] = []
  for (let attempt = 0; found.length < count; attempt++) {
    if (attempt > 1_000) throw new Error(`no ${count} free ports between ${first} and ${end}`)
    const port = randomInt(first, end)
    if (tried.has(port)) continue
    tried.add(port)
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

/** Checks whether a TCP server could listen on the port. */
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

/** Describes the process that listens on a TCP port: `process 123 (java -jar x.jar)`; "another process" when unknown. */
export function portHolder(port: number): string {
  const inodes = listeningInodes(port)
  const pid = inodes.size === 0 ? undefined : findSocketOwner(inodes)
  if (pid === undefined) return 'another process'
  return `process ${pid} (${commandLine(pid)})`
}

/** The inodes of sockets that listen on `port`, from the tables of the kernel; empty on systems without them. */
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

/** Empty when the file is missing: entries of /proc disappear with their process. */
function readText(file: string): string {
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
