import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** Writes an archive without compression, because media is compressed already. */
export async function writeZip(
  entries: readonly { path: string; name: string }[],
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const zip = new ZipFile()
  for (const { path, name } of entries) zip.addFile(path, name, { compress: false, mode: 0o644 })
  zip.end()
  const output = createWriteStream(to)
  // yazl reports read errors on itself, not on its output stream.
  zip.on('error', (error: Error) => output.destroy(error))
  await pipeline(zip.outputStream, output, { signal })
}
