import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The content of a file, undefined where there is none. */
type Read = (file: string) => string | undefined

const CGROUPS = '/sys/fs/cgroup'
/** The files of a memory limit by the version of control groups. `cache`: lines of the statistics that can be reclaimed. */
const VERSIONS = {
  one: {
    root: join(CGROUPS, 'memory'),
    limit: 'memory.limit_in_bytes',
    usage: 'memory.usage_in_bytes',
    cache: ['total_inactive_file', 'total_active_file'],
  },
  two: { root: CGROUPS, limit: 'memory.max', usage: 'memory.current', cache: ['inactive_file', 'active_file'] },
} as const

/**
 * Bytes that processes of this node can still use: of the machine, or of the tightest control group around it. The page
 * cache counts as available, because the kernel reclaims it.
 */
export function availableMemory(read: Read = readFile): number {
  const machine = read('/proc/meminfo') ?? ''
  const bytesOf = (name: string): number => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(machine)?.[1]
    return kib === undefined ? Number.POSITIVE_INFINITY : Number(kib) * 1_024
  }
  return Math.min(bytesOf('MemAvailable'), ...availableInGroups(read, bytesOf('MemTotal')))
}

function availableInGroups(read: Read, total: number): number[] {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'))
  return lines.flatMap(([, controllers, path]) => {
    if (path === undefined) return []
    if (controllers === '') return groupsOf(path).flatMap((group) => availableInGroup(read, VERSIONS.two, group, total))
    if (!controllers?.split(',').includes('memory')) return []
    return groupsOf(path).flatMap((group) => availableInGroup(read, VERSIONS.one, group, total))
  })
}

/** A group and the groups around it: each may have a limit. */
function groupsOf(path: string): string[] {
  const groups = [path]
  for (let group = path; dirname(group) !== group; group = dirname(group)) groups.push(dirname(group))
  return groups
}

/** Nothing for a group without a limit: a number that exceeds the memory of the machine (`total`), `max`, or no file. */
function availableInGroup(
  read: Read,
  version: (typeof VERSIONS)['one' | 'two'],
  group: string,
  total: number,
): number[] {
  const folder = join(version.root, group)
  const limit = Number(read(join(folder, version.limit)))
  if (!(limit > 0 && limit < total)) return []
  const usage = Number(read(join(folder, version.usage)))
  if (!Number.isFinite(usage)) return []
  const stat = read(join(folder, 'memory.stat')) ?? ''
  const cache = version.cache.reduce((sum, name) => {
    const bytes = new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1]
    return sum + Number(bytes ?? 0)
  }, 0)
  return [Math.max(0, limit - usage + Math.min(cache, usage))]
}

function readFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
