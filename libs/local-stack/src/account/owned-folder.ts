import { lchownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from './account.js'

/** Creates the folder if it is missing, and makes the account the owner of it and of its content. */
export function makeOwnedFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true })
  if (account) changeOwner(folder, account)
}

function changeOwner(path: string, account: Account): void {
  const entry = lstatSync(path)
  if (entry.isDirectory()) for (const name of readdirSync(path)) changeOwner(join(path, name), account)
  // A file with several links may also be part of another folder.
  else if (!entry.isFile() || entry.nlink > 1) return
  if (entry.uid !== account.uid) lchownSync(path, account.uid, account.gid)
}
