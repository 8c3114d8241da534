import { mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Whether an error of the system has one of these codes. */
export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code))

/**
 * Makes a folder and those above it. Node's own `recursive` never returns, and keeps a thread busy, where the file
 * system takes no folder (below `/proc`).
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

/** A file's bytes, or a folder's names, are on the disk when this resolves. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Within a file system; whoever sees the new name sees the whole file, also after a power cut. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await flush(from)
  await rename(from, to)
}
