import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The system resources of a process and its descendants, from /proc; Linux only. */
export interface ProcessHoldings {
  /** Does not include the process itself. */
  descendants: ProcessInfo[]
  openFiles: number
  /** Local ports of UDP sockets, ascending. */
  udpPorts: number[]
  /** Resident memory in bytes. */
  memory: number
}

export interface ProcessInfo {
  pid: number
  parent: number
  command: string
}

/** Ignores descendants that exit meanwhile. @throws Error when the process itself does not exist */
export function holdingsOf(pid: number): ProcessHoldings {
  const descendants = descendantsOf(pid)
  const family = [ownHoldings(pid), ...descendants.flatMap((each) => unlessEnded(each.pid, ownHoldings))]
  const sum = (key: 'openFiles' | 'memory') => family.reduce((total, each) => total + each[key], 0)
  return {
    descendants,
    openFiles: sum('openFiles'),
    udpPorts: family.flatMap(({ udpPorts }) => udpPorts).toSorted((a, b) => a - b),
    memory: sum('memory'),
  }
}

const ownHoldings = (pid: number): Omit<ProcessHoldings, 'descendants'> => ({
  openFiles: readdirSync(`/proc/${pid}/fd`).length,
  udpPorts: udpPortsOf(pid),
  memory: memoryOf(pid),
})

function unlessEnded<T>(pid: number, read: (pid: number) => T): T[] {
  try {
    return [read(pid)]
  } catch (error) {
    if (isAlive(pid) && residentBytes(pid) !== undefined) throw error
    return []
  }
}

/** Whether the process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  const info = readProcess(pid)
  return info !== undefined && info.state !== 'Z'
}

/** The descendants of a process without zombies. */
export function descendantsOf(pid: number): ProcessInfo[] {
  const all = listProcesses()
  const below = (parent: number): ProcessInfo[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)])
  return below(pid)
}

/** All processes of the machine whose command line contains the text. */
export const processesNamed = (text: string): ProcessInfo[] =>
  listProcesses().filter(({ pid, command }) => pid !== process.pid && command.includes(text))

export const udpPortsOf = (pid: number): number[] => localPorts(pid, ['udp', 'udp6'])

/** Local ports of TCP sockets, one for each socket, ascending. */
export const tcpPortsOf = (pid: number): number[] => localPorts(pid, ['tcp', 'tcp6'])

function localPorts(pid: number, tables: readonly string[]): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    ),
  )
  const rows = tables.flatMap((table) => readText(`/proc/${pid}/net/${table}`).split('\n').slice(1))
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => row[9] !== undefined && inodes.has(row[9]))
    .map((row) => Number.parseInt(row[1]?.split(':')[1] ?? '', 16))
    .toSorted((a, b) => a - b)
}

export function memoryOf(pid: number): number {
  const bytes = residentBytes(pid)
  if (bytes === undefined) throw new Error(`process ${pid} does not exist`)
  return bytes
}

/** Undefined without the process, and while it exits: it has given its memory back before it is a zombie. */
function residentBytes(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

const listProcesses = (): ProcessInfo[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const { state, ...info } = readProcess(Number(name)) ?? { state: 'Z', pid: 0, parent: 0, command: '' }
      return state === 'Z' ? [] : [info]
    })

function readProcess(pid: number): (ProcessInfo & { state: string }) | undefined {
  // The name in brackets may contain any characters; the state follows the last bracket.
  const fields = readText(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
  if (fields.length < 2) return undefined
  const command = readText(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()
  return { pid, state: fields[0] ?? '', parent: Number(fields[1]), command }
}

/** Returns an empty string when the process exits meanwhile. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function readLink(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
