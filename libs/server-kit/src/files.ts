import { open, rename } from 'node:fs/promises'

/** Whether an error of the system has one of these codes. */
export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code))

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
