import { ConfigError } from '@session-service/config'
import { type Account, resolveAccount } from './account.js'
import { dropRoot, runAsStep } from './drop-root.js'
import { accessProblems, type NamedPath, prepareFolder } from './folders.js'
import { bindPrivilegedPort, needsRoot, type PortAddress } from './privileged-ports.js'

export { resolveAccount } from './account.js'
export { listenOnPrivilegedPort } from './privileged-ports.js'

export interface RunAsOptions {
  /** SERVICE_RUN_AS. */
  runAs: string
  /** Ports that this process listens on. */
  ports: readonly PortAddress[]
  /** Ports that child processes bind, with their properties: those have no more privileges than the account. */
  childPorts?: readonly { name: string; port: number }[]
  /** Folders that this process writes; missing ones are created. */
  folders?: readonly NamedPath[]
  /** Folders that it may need later: no problem when the account cannot write them. */
  optionalFolders?: readonly NamedPath[]
  /** Files that it reads, also later. */
  files?: readonly NamedPath[]
  logger: { log(message: string): void; warn(message: string): void }
}

/**
 * Switches this process from root to the account of SERVICE_RUN_AS, after the steps that need root. Call it before child
 * processes start and connections open. @throws ConfigError when the account, or a path that it needs, cannot be used
 */
export async function dropPrivileges(options: RunAsOptions): Promise<void> {
  const { runAs, logger } = options
  const step = runAsStep({ runAs, account: runAs === '' ? undefined : resolveAccount(runAs), current: currentIds() })
  if (step.kind === 'refuse') throw new ConfigError([step.problem])
  if (step.kind === 'warn')
    logger.warn('this process runs as root: set SERVICE_RUN_AS to an unprivileged account, so that it drops root')
  if (step.kind === 'drop') await switchTo(step.account, options)
}

async function switchTo(account: Account, options: RunAsOptions): Promise<void> {
  const { folders = [], optionalFolders = [], files = [], ports, childPorts = [], logger } = options
  for (const port of ports) await bindPrivilegedPort(port)
  // A folder that could not be created is reported below.
  for (const { path } of [...folders, ...optionalFolders]) await prepareFolder(path, account).catch(() => undefined)
  dropRoot(account)
  const { uid, gid, name = `uid ${uid}` } = account
  const problems = [
    ...accessProblems(folders, files, name),
    ...childPorts
      .filter(({ port }) => needsRoot(port))
      .map((child) => `${child.name}: the port ${child.port} cannot be bound by ${name} (SERVICE_RUN_AS)`),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  logger.log(`dropped root: this process runs as ${name} (uid ${uid}, gid ${gid})`)
}

function currentIds(): { uid: number; gid: number } | undefined {
  const uid = process.getuid?.()
  const gid = process.getgid?.()
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}
