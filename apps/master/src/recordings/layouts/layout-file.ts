import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

/** Neither `..` nor what is hidden, nor what a file system may take for something else. */
const SEGMENT = /^[\w~@+-][\w~@+.-]*$/
const MOST_SEGMENTS = 32
const NOT_THERE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG', 'ENXIO']

export interface LayoutFile {
  handle: FileHandle
  size: number
}

/** A file below the folder, of a path as it is asked for; undefined for whatever else it may lead to. No link is followed. */
export async function openLayoutFile(root: string, path: string): Promise<LayoutFile | undefined> {
  const segments = path.split('/')
  if (segments.length > MOST_SEGMENTS || !segments.every((segment) => SEGMENT.test(segment))) return undefined
  try {
    if (!(await areFolders(root, segments.slice(0, -1)))) return undefined
    const handle = await open(join(root, ...segments), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (stats.isFile()) return { handle, size: stats.size }
    await handle.close()
  } catch (error) {
    if (!isErrno(error, ...NOT_THERE)) throw error
  }
  return undefined
}

async function areFolders(root: string, segments: readonly string[]): Promise<boolean> {
  const paths = segments.map((_, at) => join(root, ...segments.slice(0, at + 1)))
  const stats = await Promise.all(paths.map((path) => lstat(path)))
  return stats.every((each) => each.isDirectory())
}
