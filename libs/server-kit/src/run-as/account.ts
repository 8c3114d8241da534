import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isErrno } from '../files.js'

/** An account of the operating system. */
export interface Account {
  uid: number
  gid: number
  /** Undefined for numeric ids without an account. */
  name?: string
  home?: string
}

/** The highest valid id; the next number denotes an error. */
const MAX_ID = 0xff_ff_ff_fe

/** Parses a line of passwd(5); undefined when it is not valid. */
export function accountOf(line: string): Account | undefined {
  const [name = '', , uid = '', gid = '', , home = ''] = line.split(':')
  if (name === '' || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined
  return { name, uid: Number(uid), gid: Number(gid), ...(home !== '' && { home }) }
}

/** Finds an account in the text of a passwd file by its name or uid. */
export function accountIn(passwd: string, key: string): Account | undefined {
  const accounts = passwd.split('\n').flatMap((line) => accountOf(line) ?? [])
  return accounts.find(({ name, uid }) => (/^\d+$/.test(key) ? uid === Number(key) : name === key))
}

/**
 * Resolves `name`, `uid` or `uid:gid`. Undefined when there is no such account; `uid:gid` needs none.
 * `lookUp` finds an account by name or uid.
 */
export function resolveAccount(
  text: string,
  lookUp: (key: string) => Account | undefined = lookUpAccount,
): Account | undefined {
  const [key = '', gid] = text.split(':')
  const found = lookUp(key)
  if (gid === undefined) return found
  const account = { ...found, uid: Number(key), gid: Number(gid) }
  return account.uid <= MAX_ID && account.gid <= MAX_ID ? account : undefined
}

/** Asks the name service, which includes directories such as LDAP; without `getent` reads /etc/passwd. */
function lookUpAccount(key: string): Account | undefined {
  const { status, stdout, error } = spawnSync('getent', ['passwd', key], { encoding: 'utf8', timeout: 10_000 })
  if (error && isErrno(error, 'ENOENT')) return accountIn(readFileSync('/etc/passwd', 'utf8'), key)
  return status === 0 ? accountOf(stdout.trim()) : undefined
}
