import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join, sep } from 'node:path'
import { FolderInUseError, isErrno, lockFolder, removePostgresData } from '@session-service/local-stack'
import type { ConsoleLog } from './console-log.js'
import { SECRET_FILES } from './kept.js'
import { OptionError } from './options.js'

/** Creates the data folder and locks it; returns a function that unlocks it. */
export async function openDataFolder(folder: string): Promise<() => void> {
  // The account of Postgres must be able to enter; the entries have their own modes.
  if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755)
  try {
    return await lockFolder(folder)
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error
    throw new OptionError(
      `the service is already running: ${error.message}. Stop it, or choose another folder with --data`,
    )
  }
}

export async function resetDataFolder(folder: string, env: NodeJS.ProcessEnv, log: ConsoleLog): Promise<void> {
  if (env.DATABASE_URL) log.line('launcher', 'warn', 'the database of DATABASE_URL is not reset')
  await removePostgresData(join(folder, 'postgres'))
  for (const name of SECRET_FILES) rmSync(join(folder, name), { force: true })
  for (const name of ['recordings', 'media-nodes']) rmSync(join(folder, name), { recursive: true, force: true })
}

const hasPath = (error: unknown): error is NodeJS.ErrnoException & { path: string } =>
  typeof error === 'object' && error !== null && 'path' in error && typeof error.path === 'string'

/** An error of the file system in the data folder, with what the user can do; every other error as it is. */
export function explainFileError(error: unknown, folder: string): unknown {
  if (!hasPath(error) || !`${error.path}${sep}`.startsWith(`${folder}${sep}`)) return error
  const isDenied = isErrno(error, 'EACCES') || isErrno(error, 'EPERM')
  const reason = isDenied
    ? '. An earlier start may have run as another account, such as root: start as that one, or'
    : ':'
  return new OptionError(`${error.message}${reason} choose another folder with --data`, { cause: error })
}
