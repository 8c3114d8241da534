import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type RecordingPartRef, ServiceError } from '@session-service/contract'
import { flush, isErrno } from '@session-service/server-kit'
import type { SentRange } from './byte-range.js'
import { FILE_NAME, RECORDING_ID, type RecordingFolders } from '../muxing/recording-folders.js'

export interface UploadTarget extends RecordingPartRef {
  file: string
}

/** How much of a file is there. */
export interface UploadState {
  offset: number
  isWhole: boolean
}

const gone = (): ServiceError =>
  new ServiceError('NOT_FOUND', 'there is no such recording, or no such part of it', { subject: 'recording' })

/** Files that nodes send, piece by piece; each appears under its name only when it is whole. */
export class PartUploads {
  constructor(
    private readonly folders: RecordingFolders,
    /** Whether the part belongs to a recording that is not deleted. */
    private readonly hasPart: (part: number) => Promise<boolean>,
  ) {}

  /**
   * What a node is told. Only a whole file is all there: of another one it sends the last byte again, which finishes it
   * where a master died before it could.
   * @throws ServiceError NOT_FOUND when the recording is gone, UNAVAILABLE when the disk is
   */
  async state(target: UploadTarget): Promise<UploadState> {
    const { offset, isWhole } = await this.present(target)
    return { offset: isWhole ? offset : Math.max(0, offset - 1), isWhole }
  }

  private async present(target: UploadTarget): Promise<UploadState> {
    const { whole, growing } = await this.paths(target)
    const size = await sizeIfThere(whole)
    if (size !== undefined) return { offset: size, isWhole: true }
    return { offset: (await sizeIfThere(growing)) ?? 0, isWhole: false }
  }

  /**
   * Takes a piece and tells how much is there now. A piece may begin before the end of what is there: bytes of one
   * place are always the same. What came of a piece that broke off stays.
   * @throws ServiceError CONFLICT when it begins behind the end, NOT_FOUND, NO_CAPACITY when the disk is full
   */
  async take(target: UploadTarget, sent: SentRange, body: Readable): Promise<UploadState> {
    const before = await this.present(target)
    if (before.isWhole && before.offset === sent.size) return before
    if (before.isWhole || (sent.range?.from ?? 0) > before.offset) {
      throw new ServiceError('CONFLICT', `${before.offset} bytes are there`)
    }
    const { whole, growing } = await this.paths(target)
    try {
      await write(growing, sent, body)
      const offset = (await stat(growing)).size
      if (offset < sent.size) return { offset, isWhole: false }
      await rename(growing, whole)
      await flush(dirname(whole))
      return { offset, isWhole: true }
    } catch (error) {
      throw await this.translated(error, target)
    }
  }

  private async translated(error: unknown, target: UploadTarget): Promise<unknown> {
    if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
      return new ServiceError('NO_CAPACITY', 'not enough disk for recordings', { cause: error })
    }
    if (isErrno(error, 'ECONNRESET')) return new ServiceError('INVALID', 'the body broke off', { cause: error })
    if (!isErrno(error, 'ENOENT')) return error
    // The same piece came twice, and the other one finished the file; or the recording was deleted meanwhile.
    const { isWhole } = await this.present(target)
    return isWhole ? new ServiceError('CONFLICT', 'the file is there') : gone()
  }

  private async paths({ recordingId, part, file }: UploadTarget): Promise<{ whole: string; growing: string }> {
    const isFit = RECORDING_ID.test(recordingId) && FILE_NAME.test(file) && Number.isSafeInteger(part) && part > 0
    const folder = this.folders.part(recordingId, part)
    if (!isFit) throw gone()
    if (!(await isFolder(folder))) {
      // The node deletes what nobody wants: a disk that is away for a moment must not be taken for that.
      throw (await this.hasPart(part)) ? new ServiceError('UNAVAILABLE', `${folder} is not there`) : gone()
    }
    return { whole: join(folder, file), growing: join(folder, `.${file}.part`) }
  }
}

async function write(path: string, { range, size }: SentRange, body: Readable): Promise<void> {
  // Not `a`: a piece is written where it belongs.
  const handle = await openGrowing(path)
  try {
    let position = range?.from ?? 0
    const end = range ? range.to + 1 : 0
    // To destroy the body of a refused piece would reset the connection before the answer is out.
    const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    for await (const chunk of chunks) {
      if (position + chunk.length > end) throw new ServiceError('INVALID', 'the body is longer than its Content-Range')
      // A disk that is nearly full takes less than it is given before it says so.
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

/** Creates it when it is not there, and leaves what is in it. */
async function openGrowing(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+')
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    return open(path, 'wx').catch((again: unknown) => {
      if (isErrno(again, 'EEXIST')) return open(path, 'r+')
      throw again
    })
  }
}

async function sizeIfThere(path: string): Promise<number | undefined> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isFile() === true ? stats.size : undefined
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    throw new ServiceError('UNAVAILABLE', `${path} cannot be looked at`, { cause: error })
  }
}
