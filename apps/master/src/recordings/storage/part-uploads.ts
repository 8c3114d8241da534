import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type RecordingPartRef, ServiceError } from '@session-service/contract'
import { flush, isErrno } from '@session-service/server-kit'
import type { ContentRange } from './byte-range.js'
import { translateDiskFull } from '../muxing/disk-full.js'
import { FILE_NAME, RECORDING_ID, type RecordingFolders } from '../muxing/recording-folders.js'

export interface UploadTarget extends RecordingPartRef {
  file: string
}

/** The progress of an upload: bytes stored, and whether the file is complete. */
export interface UploadState {
  offset: number
  isComplete: boolean
}

const notFound = (): ServiceError =>
  new ServiceError('NOT_FOUND', 'there is no such recording, or no such part of it', { subject: 'recording' })

/** Stores files that media nodes send in pieces. A file gets its name when it is complete. */
export class PartUploads {
  constructor(
    private readonly folders: RecordingFolders,
    /** True when the part belongs to a recording that is not deleted. */
    private readonly hasPart: (part: number) => Promise<boolean>,
  ) {}

  /**
   * The progress that a media node gets. For an incomplete file it is one byte less than stored, so that the node sends
   * the last byte again: this completes a file whose master died before it could.
   * @throws ServiceError NOT_FOUND when the recording is deleted, UNAVAILABLE when the disk is missing
   */
  async state(target: UploadTarget): Promise<UploadState> {
    const { offset, isComplete } = await this.#storedState(target)
    return { offset: isComplete ? offset : Math.max(0, offset - 1), isComplete }
  }

  async #storedState(target: UploadTarget): Promise<UploadState> {
    const { completePath, partialPath } = await this.#paths(target)
    const size = await sizeIfExists(completePath)
    if (size !== undefined) return { offset: size, isComplete: true }
    return { offset: (await sizeIfExists(partialPath)) ?? 0, isComplete: false }
  }

  /**
   * Stores a piece and returns the progress. A piece may overlap what is stored, because the bytes of a position never
   * change. The bytes of an interrupted piece are kept.
   * @throws ServiceError CONFLICT when it begins after the stored bytes, NOT_FOUND, NO_CAPACITY when the disk is full
   */
  async take(target: UploadTarget, sent: ContentRange, body: Readable): Promise<UploadState> {
    const before = await this.#storedState(target)
    if (before.isComplete && before.offset === sent.size) return before
    if (before.isComplete || (sent.range?.from ?? 0) > before.offset) {
      throw new ServiceError('CONFLICT', `${before.offset} bytes are stored`)
    }
    const { completePath, partialPath } = await this.#paths(target)
    try {
      await write(partialPath, sent, body)
      const offset = (await stat(partialPath)).size
      if (offset < sent.size) return { offset, isComplete: false }
      await rename(partialPath, completePath)
      await flush(dirname(completePath))
      return { offset, isComplete: true }
    } catch (error) {
      throw await this.#translated(error, target)
    }
  }

  async #translated(error: unknown, target: UploadTarget): Promise<unknown> {
    if (isErrno(error, 'ECONNRESET')) return new ServiceError('INVALID', 'the body was interrupted', { cause: error })
    if (!isErrno(error, 'ENOENT')) return translateDiskFull(error)
    // The same piece was sent twice and the other one completed the file, or the recording was deleted meanwhile.
    const { isComplete } = await this.#storedState(target)
    return isComplete ? new ServiceError('CONFLICT', 'the file is complete') : notFound()
  }

  async #paths({ recordingId, part, file }: UploadTarget): Promise<{ completePath: string; partialPath: string }> {
    const isValid = RECORDING_ID.test(recordingId) && FILE_NAME.test(file) && Number.isSafeInteger(part) && part > 0
    const folder = this.folders.part(recordingId, part)
    if (!isValid) throw notFound()
    if (!(await isFolder(folder))) {
      // After NOT_FOUND the media node deletes its files: a disk that is unmounted for a moment must not cause that.
      throw (await this.hasPart(part)) ? new ServiceError('UNAVAILABLE', `${folder} does not exist`) : notFound()
    }
    return { completePath: join(folder, file), partialPath: join(folder, `.${file}.part`) }
  }
}

async function write(path: string, { range, size }: ContentRange, body: Readable): Promise<void> {
  // Not opened for appending: a piece is written at its position.
  const handle = await openPartial(path)
  try {
    let position = range?.from ?? 0
    const end = range ? range.to + 1 : 0
    // Destroying the body of a refused piece would reset the connection before the answer is sent.
    const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    for await (const chunk of chunks) {
      if (position + chunk.length > end) throw new ServiceError('INVALID', 'the body is longer than its Content-Range')
      // A disk that is nearly full writes fewer bytes at first, and fails with the next write.
      for (let at = 0; at < chunk.length;) {
        const { bytesWritten } = await handle.write(chunk, at, chunk.length - at, position + at)
        at += bytesWritten
      }
      position += chunk.length
    }
    if (position === size) await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Opens or creates the file without truncating it. */
async function openPartial(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    return open(path, 'wx').catch((createError: unknown) => {
      if (isErrno(createError, 'EEXIST')) return open(path, 'r+')
      throw createError
    })
  }
}

async function sizeIfExists(path: string): Promise<number | undefined> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isFile() === true ? stats.size : undefined
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw new ServiceError('UNAVAILABLE', `${path} cannot be read`, { cause: error })
  }
}
