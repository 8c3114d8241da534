import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

const PREFIX = 'session-recorder-'
const NAME = /^session-recorder-(\d+)-/

/** A folder with a short path, as sockets need it, for this process alone: the profile, the sockets, the keys. */
export async function openWorkplace(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  await mkdir(join(folder, 'tmp'))
  return folder
}

export const closeWorkplace = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })

/** Removes what killed processes have left. */
export async function sweepWorkplaces(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  const left = names.filter((name) => {
    const pid = Number(NAME.exec(name)?.[1] ?? process.pid)
    return !lives(pid)
  })
  await Promise.all(left.map((name) => closeWorkplace(join(tmpdir(), name)).catch(() => undefined)))
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isErrno(error, 'EPERM')
  }
}
