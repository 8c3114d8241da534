import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { mayEnter, serverAccount, type Account } from './account.js'

const SHARED_FOLDERS = ['/var/lib/session-service', join(tmpdir(), 'session-service')]

/**
 * Where a cluster that is wanted at `dataDir` really lives. As root the server runs under another account; when that one
 * cannot enter the folder (a home of mode 0700), the cluster goes to a folder of the system, named after the wanted one.
 */
export function placeOf(dataDir: string, account: Account | undefined = serverAccount()): string {
  const wanted = resolve(dataDir)
  mkdirSync(dirname(wanted), { recursive: true })
  if (mayEnter(account, dirname(wanted))) return wanted
  const name = `postgres-data-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`
  return join(sharedFolder(account), name)
}

/** A folder of the system that every account may enter. */
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
    if (mayEnter(account, folder)) return folder
  }
  throw new Error(
    `Postgres finds no folder for its data that its account may enter: tried ${SHARED_FOLDERS.join(', ')}`,
  )
}
