import { readdir, readFile } from 'node:fs/promises'

/**
 * Ids of the processes on this machine that were started with this entry in their environment, without processes that
 * this one may not read. A zombie process has no environment.
 */
export async function processesWith(name: string, value: string): Promise<number[]> {
  const entry = `${name}=${value}`
  const pids = (await readdir('/proc')).filter((file) => /^\d+$/.test(file)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return text.split('\0').includes(entry) ? [pid] : []
    }),
  )
  return found.flat()
}

/** The processes whose parent is not among `pids`. */
export async function oldestOf(pids: readonly number[]): Promise<number[]> {
  const parents = await Promise.all(pids.map(parentOf))
  return pids.filter((_, index) => !pids.includes(parents[index] ?? 0))
}

/** Parent process id; 0 when the process has ended. */
async function parentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // Format: `pid (name) state parent …`; the name may contain spaces and parentheses.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}
