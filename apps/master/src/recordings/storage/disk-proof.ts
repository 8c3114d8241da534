import { randomBytes } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from '@session-service/server-kit'

export const PROOF = '.proof'

/** What is in the proof file: written once by whichever master is first, and linked into place, so that nobody reads half of it. */
export async function diskProof(folder: string): Promise<string> {
  const path = join(folder, PROOF)
  const known = await readFile(path, 'utf8').catch(() => '')
  if (known) return known
  const mine = join(folder, `${PROOF}.${randomBytes(8).toString('hex')}`)
  await writeFile(mine, randomBytes(24).toString('base64url'), { mode: 0o644, flush: true })
  try {
    await link(mine, path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    await unlink(mine)
  }
  return readFile(path, 'utf8')
}
