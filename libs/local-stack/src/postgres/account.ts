import { spawnSync } from 'node:child_process'

/** The operating-system account that the server runs under. */
export interface Account {
  name: string
  uid: number
  gid: number
}

const CANDIDATES = ['postgres', 'nobody']

/** Postgres refuses to run as root: then the first of the usual accounts is taken. Undefined: run as who we are. */
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

/** Whether the account may enter the folder, asked of the system itself: modes alone do not tell. */
export const mayEnter = (account: Account | undefined, folder: string): boolean => trySh(account, 'cd -- "$1"', folder)

/** Whether the account may run the program. */
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
