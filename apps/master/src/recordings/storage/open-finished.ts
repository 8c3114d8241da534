import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'
import { FILE_NAME, RECORDING_ID, type RecordingFolders } from '../muxing/recording-folders.js'

export interface OpenFile {
  handle: FileHandle
  size: number
  modifiedAt: Date
}

const NOT_FOUND_CODES = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG']

/** Opens a regular file in the folder of a recording; undefined for anything else that the names lead to. */
export async function openFinished(folders: RecordingFolders, id: string, name: string): Promise<OpenFile | undefined> {
  if (!RECORDING_ID.test(id) || !FILE_NAME.test(name)) return undefined
  const folder = folders.finished(id)
  try {
    if (!(await lstat(folder)).isDirectory()) return undefined
    // O_NOFOLLOW refuses links; O_NONBLOCK does not wait for the writer of a pipe.
    const handle = await open(join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size, mtime, isFile } = await statOf(handle)
    if (isFile) return { handle, size, modifiedAt: mtime }
    await handle.close()
  } catch (error) {
    if (!isErrno(error, ...NOT_FOUND_CODES)) throw error
  }
  return undefined
}

async function statOf(handle: FileHandle): Promise<{ size: number; mtime: Date; isFile: boolean }> {
  const stats = await handle.stat()
  return { size: stats.size, mtime: stats.mtime, isFile: stats.isFile() }
}
