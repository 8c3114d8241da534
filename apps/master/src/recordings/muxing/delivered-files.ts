import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RecordedFile, RecordingEnded } from '@session-service/contract'
import type { RecordingFolders } from './recording-folders.js'

/** A file that a media node delivered, with its path. */
export interface DeliveredFile extends RecordedFile {
  path: string
  part: number
}

/** The files of the parts that exist and are not empty, in the order of the parts. */
export async function deliveredFiles(
  folders: RecordingFolders,
  parts: readonly RecordingEnded[],
): Promise<DeliveredFile[]> {
  const files = parts.flatMap(({ recordingId, part, files: reported }) =>
    reported.map((file) => ({ ...file, part, path: join(folders.part(recordingId, part), file.name) })),
  )
  const sizes = await Promise.all(files.map(({ path }) => sizeOf(path)))
  return files.map((file, index) => ({ ...file, size: sizes[index] ?? 0 })).filter(({ size }) => size > 0)
}

export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}
