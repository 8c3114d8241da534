import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { poll } from '../processes/poll.js'
import { listFolder, readLink } from '../ports.js'

const STOP_MS = 20_000
const POLL_MS = 50

/**
 * Cleans up after a server that did not shut down gracefully. The caller holds the lock of the folder.
 * It stops a server that lost its parent, and removes a stale `postmaster.pid`: its number may now belong to another
 * program, which Postgres would take for itself and refuse to start. Without /proc, Postgres decides alone.
 */
export async function clearLeftover(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid')
  if (!existsSync(pidFile) || !existsSync('/proc/self/cwd')) return
  const postmaster = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    const alive = processesIn(dataDir)
    sendSignal(alive.includes(postmaster) ? [postmaster] : alive, signal)
    await poll(() => processesIn(dataDir).length === 0, { everyMs: POLL_MS, timeoutMs: STOP_MS })
  }
  const remaining = processesIn(dataDir)
  if (remaining.length > 0) throw new Error(`an earlier Postgres does not stop: process ${remaining.join(', ')}`)
  // Without a process of the server, nothing uses the shared memory that the file names.
  rmSync(pidFile, { force: true })
}

/** The processes of a server: their working directory is the data folder. */
function processesIn(dataDir: string): number[] {
  const folder = realpathSync(dataDir)
  return listFolder('/proc')
    .filter((name) => /^\d+$/.test(name) && readLink(`/proc/${name}/cwd`) === folder)
    .map(Number)
}

function sendSignal(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has already ended or belongs to another account; the caller checks what remains.
    }
  }
}
