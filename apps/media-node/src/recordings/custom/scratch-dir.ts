import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

const PREFIX = 'session-recorder-'
const NAME = /^session-recorder-(\d+)-/

/** A private folder for profile, sockets and keys. Its path is short because of the length limit of socket paths. */
export async function createScratchDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  await mkdir(join(folder, 'tmp'))
  return folder
}

export const removeScratchDir = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })

/** Removes the folders of dead processes. */
export async function removeStaleScratchDirs(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  const stale = names.filter((name) => {
    const pid = Number(NAME.exec(name)?.[1] ?? process.pid)
    return !lives(pid)
  })
  await Promise.all(stale.map((name) => removeScratchDir(join(tmpdir(), name)).catch(() => undefined)))
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isErrno(error, 'EPERM')
  }
}
