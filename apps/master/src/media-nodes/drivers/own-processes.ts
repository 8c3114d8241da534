import { readdir, readFile } from 'node:fs/promises'

/**
 * Ids of the processes on this machine that were started with this entry in their environment, as far as they may be
 * read. What has ended and was not collected yet has no environment any more.
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

/** Of these processes those that none of the others has started. */
export async function oldestOf(pids: readonly number[]): Promise<number[]> {
  const parents = await Promise.all(pids.map(parentOf))
  return pids.filter((_, index) => !pids.includes(parents[index] ?? 0))
}

/** 0 when it has gone. */
async function parentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // `pid (name) state parent …`, and the name may hold anything.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}
