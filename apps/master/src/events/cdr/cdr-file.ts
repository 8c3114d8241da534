import { open, readdir, rm, stat, statfs, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno, makeFolder } from '@session-service/server-kit'

/** `CDR.<date>_<time of its start>.log`, UTC. */
export const CDR_FILE = /^CDR\.\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}\.log$/
const KEPT_DAYS = 30
const KEPT_BYTES = 20 * 1024 ** 3
/** Share of the volume that files may fill: the rest is for the records of today, whose files stay. */
const MOST_OF_VOLUME = 0.9
const DAY_MS = 86_400_000

const fileName = (now: Date): string => {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).split('T')
  return `CDR.${date}_${time.replaceAll(':', '-')}.log`
}

/** The beginning of the names of a day's files: it precedes them in the order of names. */
const prefixOf = (day: Date): string => fileName(day).slice(0, 'CDR.yyyy-MM-dd'.length)

/** Names of the files of call records, oldest first. */
export async function cdrFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => CDR_FILE.test(name)).toSorted()
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

/**
 * The files to delete, of all files with the oldest first: those that began more than 30 days ago, and the oldest beyond
 * the size. Never one of today, which a master may still write.
 */
export function expired(files: readonly { name: string; bytes: number }[], now: Date, mostBytes: number): string[] {
  const firstDay = prefixOf(new Date(now.getTime() - KEPT_DAYS * DAY_MS))
  const today = prefixOf(now)
  let bytes = 0
  return files
    .toReversed()
    .filter((file) => {
      bytes += file.bytes
      return file.name < today && (file.name < firstDay || bytes > mostBytes)
    })
    .map(({ name }) => name)
}

/** Writes call records: to a new file at each start and each day. Old files are deleted, so that the disk does not fill. */
export class CdrFile {
  #file: { handle: FileHandle; day: string } | undefined

  constructor(private readonly folder: string) {}

  /** Resolves when the lines are on the disk. When it rejects, none of them is in the file. */
  async append(lines: readonly string[], now: Date): Promise<void> {
    const handle = await this.#current(now)
    const { size } = await handle.stat()
    try {
      await handle.appendFile(lines.map((line) => `${line}\n`).join(''))
      await handle.datasync()
    } catch (error) {
      await handle.truncate(size)
      if (isErrno(error, 'ENOSPC')) await this.#removeOld(now)
      throw error
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.handle.close()
  }

  async #current(now: Date): Promise<FileHandle> {
    const day = now.toISOString().slice(0, 10)
    if (this.#file?.day === day) return this.#file.handle
    await this.close()
    await makeFolder(this.folder)
    const handle = await open(join(this.folder, fileName(now)), 'a', 0o640)
    this.#file = { handle, day }
    await this.#removeOld(now)
    return handle
  }

  async #removeOld(now: Date): Promise<void> {
    const names = await cdrFiles(this.folder)
    const files = await Promise.all(
      names.map(async (name) => ({ name, bytes: (await stat(join(this.folder, name))).size })),
    )
    const { blocks, bsize } = await statfs(this.folder)
    // Some file systems report 0.
    const volume = blocks * bsize || Infinity
    const mostBytes = Math.min(KEPT_BYTES, volume * MOST_OF_VOLUME)
    for (const name of expired(files, now, mostBytes)) await rm(join(this.folder, name), { force: true })
  }
}
