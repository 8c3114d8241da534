import { createHash, randomUUID } from 'node:crypto'
import { chmodSync, constants, copyFileSync, existsSync, linkSync, realpathSync, renameSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { mayRun, type Account } from './account.js'
import { sharedFolder } from './shared-folder.js'

/**
 * A path under which the account can execute the program: the original path, or a link or copy in a shared folder when
 * the account cannot enter the folder of the program, such as a cache in a home folder of mode 0700.
 */
export function executableFor(account: Account | undefined, program: string): string {
  if (!account || mayRun(account, program)) return program
  const file = realpathSync(program)
  const { size, mtimeMs, mode } = statSync(file)
  const id = createHash('sha256').update(`${file} ${size} ${mtimeMs}`).digest('hex').slice(0, 12)
  const shared = join(sharedFolder(account), `${basename(file)}-${id}`)
  if (!existsSync(shared)) publish(file, shared, (mode & 0o005) === 0o005)
  if (mayRun(account, shared)) return shared
  throw new Error(`the account ${account.name} can execute neither ${program} nor ${shared}`)
}

/** Links the file where its mode and the file system allow that; copies it otherwise. */
function publish(file: string, shared: string, isForAll: boolean): void {
  const draft = `${shared}.${randomUUID()}`
  try {
    if (!isForAll) throw new Error('the mode has to change')
    linkSync(file, draft)
  } catch {
    copyFileSync(file, draft, constants.COPYFILE_FICLONE)
    chmodSync(draft, 0o755)
  }
  renameSync(draft, shared)
}
