import { chmodSync, existsSync, lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mayEnter, type Account } from './account.js'

const SHARED_FOLDERS = ['/var/lib/session-service', join(tmpdir(), 'session-service')]

/** A folder of this process that every account may enter. */
export function sharedFolder(account: Account | undefined): string {
  for (const folder of SHARED_FOLDERS) {
    try {
      if (!existsSync(folder)) {
        mkdirSync(folder, { recursive: true })
        chmodSync(folder, 0o755)
      }
    } catch {
      continue
    }
    if (isOwn(folder) && mayEnter(account, folder)) return folder
  }
  throw new Error(`no folder is accessible for the account: tried ${SHARED_FOLDERS.join(', ')}`)
}

/** Programs are executed from there, so no other account may be able to replace them. */
function isOwn(folder: string): boolean {
  const { uid, mode } = lstatSync(folder)
  return uid === process.getuid?.() && (mode & 0o022) === 0
}
