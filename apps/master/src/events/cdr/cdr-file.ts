import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno, makeFolder } from '@session-service/server-kit'

/** `CDR.<date>_<time of its start>.log`, UTC. */
export const CDR_FILE = /^CDR\.\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}\.log$/
const KEPT_FILES = 30
const KEPT_BYTES = 20 * 1024 ** 3

const fileName = (now: Date): string => {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).split('T')
  return `CDR.${date}_${time.replaceAll(':', '-')}.log`
}

/** Names of the files of call records, oldest first. */
export async function cdrFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => CDR_FILE.test(name)).toSorted()
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

/** Writes call records: to a new file at each start and each day. Old files are deleted, so that the disk does not fill. */
export class CdrFile {
  #file: { handle: FileHandle; day: string } | undefined

  constructor(private readonly folder: string) {}

  /** Resolves when the lines are on the disk. */
  async append(lines: readonly string[], now: Date): Promise<void> {
    const handle = await this.#current(now)
    await handle.appendFile(lines.map((line) => `${line}\n`).join(''))
    await handle.datasync()
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
    await this.#removeOld()
    return handle
  }

  async #removeOld(): Promise<void> {
    let bytes = 0
    for (const [index, name] of (await cdrFiles(this.folder)).toReversed().entries()) {
      const path = join(this.folder, name)
      bytes += (await stat(path)).size
      if (index >= KEPT_FILES || bytes > KEPT_BYTES) await rm(path, { force: true })
    }
  }
}
