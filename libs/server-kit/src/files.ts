import { mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Checks whether an error of the operating system has one of these codes. */
export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code))

/**
 * Creates a folder and its missing parents. Node's own `recursive` never returns, and keeps a thread busy, on a file
 * system without mkdir (such as `/proc`).
 */
export async function makeFolder(path: string): Promise<void> {
  const parent = dirname(path)
  try {
    await makeOneFolder(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || parent === path) throw error
    await makeFolder(parent)
    await makeOneFolder(path)
  }
}

async function makeOneFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST') || !(await stat(path)).isDirectory()) throw error
  }
}

/** Resolves when the content of the file, or the entries of the folder, are on the disk. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Renames a file within a file system. The new name always has the whole content, also after a power cut. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await flush(from)
  await rename(from, to)
}
