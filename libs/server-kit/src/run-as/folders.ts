import { accessSync, constants } from 'node:fs'
import { chown, lchown, readdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isErrno, makeFolder } from '../files.js'
import type { Account } from './account.js'

/** A path of the configuration and its property. */
export interface NamedPath {
  name: string
  path: string
}

/**
 * Creates the folder if it is missing. The account becomes the owner of the folders created here, and of an empty folder
 * of root such as a new volume. Nothing else changes its owner: others may use it.
 */
export async function prepareFolder(path: string, { uid, gid }: Account): Promise<void> {
  const missing = await missingFolders(path)
  await makeFolder(path)
  for (const folder of missing) await lchown(folder, uid, gid)
  const { uid: owner } = await stat(path)
  if (owner === 0 && (await readdir(path)).length === 0) await chown(path, uid, gid)
}

/** The folder and its parents that do not exist, the outermost first. */
async function missingFolders(path: string): Promise<string[]> {
  const exists = await stat(path).then(
    () => true,
    (error: unknown) => !isErrno(error, 'ENOENT'),
  )
  return exists || dirname(path) === path ? [] : [...(await missingFolders(dirname(path))), path]
}

export const WRITE = constants.R_OK | constants.W_OK | constants.X_OK

/** One problem for each folder that this process cannot write and each file that it cannot read. */
export function accessProblems(folders: readonly NamedPath[], files: readonly NamedPath[], account: string): string[] {
  return [
    ...folders
      .filter(({ path }) => !isAccessible(path, WRITE))
      .map(
        ({ name, path }) =>
          `${name}: the folder "${path}" cannot be written by ${account} (SERVICE_RUN_AS): create it, and make that account the owner of it and its content`,
      ),
    ...files
      .filter(({ path }) => !isAccessible(path, constants.R_OK))
      .map(({ name, path }) => `${name}: the file "${path}" cannot be read by ${account} (SERVICE_RUN_AS)`),
  ]
}

export function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
