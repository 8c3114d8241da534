import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

/** Excludes `..`, hidden names and characters that file systems interpret. */
const SEGMENT = /^[\w~@+-][\w~@+.-]*$/
const MAX_SEGMENTS = 32
const NOT_FOUND_CODES = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG', 'ENXIO']

export interface LayoutFile {
  handle: FileHandle
  size: number
}

/** Opens a regular file below the folder; undefined for anything else that the requested path leads to. No link is followed. */
export async function openLayoutFile(root: string, path: string): Promise<LayoutFile | undefined> {
  const segments = path.split('/')
  if (segments.length > MAX_SEGMENTS || !segments.every((segment) => SEGMENT.test(segment))) return undefined
  try {
    if (!(await areFolders(root, segments.slice(0, -1)))) return undefined
    const handle = await open(join(root, ...segments), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (stats.isFile()) return { handle, size: stats.size }
    await handle.close()
  } catch (error) {
    if (!isErrno(error, ...NOT_FOUND_CODES)) throw error
  }
  return undefined
}

async function areFolders(root: string, segments: readonly string[]): Promise<boolean> {
  const paths = segments.map((_, at) => join(root, ...segments.slice(0, at + 1)))
  const stats = await Promise.all(paths.map((path) => lstat(path)))
  return stats.every((each) => each.isDirectory())
}
