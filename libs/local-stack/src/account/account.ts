import { spawnSync } from 'node:child_process'

/** The operating-system account that the server runs under. */
export interface Account {
  name: string
  uid: number
  gid: number
}

/** The second is the unprivileged account of every system. */
// oxlint-disable-next-line language/plain-english -- the name of an account
const CANDIDATES = ['postgres', 'nobody']

/** The account of servers that root starts: the first existing candidate. Undefined when this process is not root. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of CANDIDATES) {
    const uid = idOf('-u', name)
    const gid = idOf('-g', name)
    if (uid !== undefined && gid !== undefined) return { name, uid, gid }
  }
  throw new Error(`Postgres does not run as root and there is no account "postgres": run "useradd --system postgres"`)
}

function idOf(option: '-u' | '-g', name: string): number | undefined {
  const { status, stdout } = spawnSync('id', [option, name], { encoding: 'utf8' })
  return status === 0 ? Number.parseInt(stdout, 10) : undefined
}

/** Checks whether the account may enter the folder. It asks the kernel, because file modes alone are not sufficient. */
export const mayEnter = (account: Account | undefined, folder: string): boolean => trySh(account, 'cd -- "$1"', folder)

/** Checks whether the account may read the file, which includes access to its parent folders. */
export const mayRead = (account: Account | undefined, file: string): boolean => trySh(account, 'test -r "$1"', file)

/** Checks whether the account may execute the file. */
export const mayRun = (account: Account | undefined, file: string): boolean =>
  trySh(account, 'test -f "$1" && test -x "$1"', file)

/** Checks whether the program starts under the account. */
export const mayExecute = (account: Account | undefined, program: string): boolean =>
  trySh(account, '"$1" --version', program)

function trySh(account: Account | undefined, script: string, argument: string): boolean {
  const { status } = spawnSync('/bin/sh', ['-c', script, 'sh', argument], {
    cwd: '/',
    stdio: 'ignore',
    ...(account && { uid: account.uid, gid: account.gid }),
  })
  return status === 0
}
