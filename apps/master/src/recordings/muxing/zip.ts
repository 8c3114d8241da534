import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** An archive of files as they are: media are compressed already. */
export async function writeZip(
  entries: readonly { path: string; name: string }[],
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const zip = new ZipFile()
  for (const { path, name } of entries) zip.addFile(path, name, { compress: false, mode: 0o644 })
  zip.end()
  const output = createWriteStream(to)
  // What it cannot read it says of itself, not of its output.
  zip.on('error', (error: Error) => output.destroy(error))
  await pipeline(zip.outputStream, output, { signal })
}
