import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { mayEnter, serverAccount, type Account } from '../account/account.js'
import { sharedFolder } from '../account/shared-folder.js'

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
