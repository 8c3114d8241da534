import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { listFolder, readLink } from '../ports.js'

const STOP_MS = 20_000
const POLL_MS = 50

/**
 * Clears what a server that was not stopped in order left in its folder; the caller holds the folder's lock.
 * A server without a parent is told to end; a `postmaster.pid` whose number now belongs to another program is removed,
 * for Postgres would take that program for itself and refuse. Where there is no /proc, Postgres decides alone.
 */
export async function clearLeftover(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid')
  if (!existsSync(pidFile) || !existsSync('/proc/self/cwd')) return
  const master = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  const deadline = performance.now() + STOP_MS
  let told: NodeJS.Signals | undefined
  for (let alive = processesIn(dataDir); alive.length > 0; alive = processesIn(dataDir)) {
    const signal = performance.now() < deadline ? 'SIGINT' : 'SIGQUIT'
    if (told !== signal) tell(alive.includes(master) ? [master] : alive, signal)
    told = signal
    if (performance.now() > deadline + STOP_MS)
      throw new Error(`a Postgres of before does not end: process ${alive.join(', ')}`)
    await delay(POLL_MS)
  }
  // With none of its processes alive nothing uses the shared memory that the file names.
  rmSync(pidFile, { force: true })
}

/** Every process of a server works in its data folder. */
function processesIn(dataDir: string): number[] {
  const folder = realpathSync(dataDir)
  return listFolder('/proc')
    .filter((name) => /^\d+$/.test(name) && readLink(`/proc/${name}/cwd`) === folder)
    .map(Number)
}

function tell(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself meanwhile, or is none of ours: the wait above tells.
    }
  }
}
