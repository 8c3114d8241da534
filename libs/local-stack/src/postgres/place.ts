import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { mayEnter, serverAccount, type Account } from '../account/account.js'
import { sharedFolder } from '../account/shared-folder.js'

/**
 * The actual folder of a cluster that is requested at `dataDir`. A server that root starts runs under another account; when
 * that account cannot enter the folder (a home of mode 0700), the cluster is in a system folder, named after `dataDir`.
 */
export function placeOf(dataDir: string, account: Account | undefined = serverAccount()): string {
  const requested = resolve(dataDir)
  mkdirSync(dirname(requested), { recursive: true })
  if (mayEnter(account, dirname(requested))) return requested
  const name = `postgres-data-${createHash('sha256').update(requested).digest('hex').slice(0, 12)}`
  return join(sharedFolder(account), name)
}
