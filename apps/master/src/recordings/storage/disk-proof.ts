import { randomBytes } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

export const PROOF = '.proof'

/**
 * The content of the file that proves to a media node that it has the same disk. The first master writes it and links it
 * into place, so that no reader sees an incomplete file.
 */
export async function diskProof(folder: string): Promise<string> {
  const path = join(folder, PROOF)
  const existing = await readFile(path, 'utf8').catch(() => '')
  if (existing) return existing
  const draft = join(folder, `${PROOF}.${randomBytes(8).toString('hex')}`)
  await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o644, flush: true })
  try {
    await link(draft, path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    await unlink(draft)
  }
  return readFile(path, 'utf8')
}
