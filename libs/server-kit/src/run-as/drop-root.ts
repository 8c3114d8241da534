import { ConfigError } from '@session-service/config'
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from './account.js'
import { isAccessible, WRITE } from './folders.js'

/** The decision of a process about its account at its start. */
type RunAsStep =
  { kind: 'stay' } | { kind: 'warn' } | { kind: 'drop'; account: Account } | { kind: 'refuse'; problem: string }

interface RunAsRequest {
  /** SERVICE_RUN_AS; empty when it is not set. */
  runAs: string
  /** The account that it names; undefined when there is none. */
  account: Account | undefined
  /** Ids of this process; undefined where the system has none. */
  current: { uid: number; gid: number } | undefined
}

export function runAsStep({ runAs, account, current }: RunAsRequest): RunAsStep {
  if (runAs === '') return { kind: current?.uid === 0 ? 'warn' : 'stay' }
  if (!account) return { kind: 'refuse', problem: `SERVICE_RUN_AS: there is no account "${runAs}"` }
  const isSameGroup = !runAs.includes(':') || current?.gid === account.gid
  if (current?.uid === account.uid && (isSameGroup || current.uid === 0)) return { kind: 'stay' }
  if (current?.uid === 0) return { kind: 'drop', account }
  const own = current ? `has uid ${current.uid} and gid ${current.gid}` : 'has no uid'
  return {
    kind: 'refuse',
    problem: `SERVICE_RUN_AS: only a process that is started as root can switch to "${runAs}"; this one ${own}`,
  }
}

/** The types of Node lack this function. */
type WithInitgroups = NodeJS.Process & { initgroups?: (user: string, extraGroup: number) => void }

/** Switches this process to the account, irreversibly. @throws ConfigError when it could become root again */
export function dropRoot({ uid, gid, name, home = '/' }: Account): void {
  // Processes of root read the cache of compiled code (NODE_COMPILE_CACHE), so that no other account may write to it.
  flushCompileCache()
  try {
    // Each of these calls needs root, so the uid goes last.
    if (name === undefined) process.setgroups?.([gid])
    else (process as WithInitgroups).initgroups?.(name, gid)
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (error) {
    // For example root in a container without CAP_SETUID or CAP_SETGID.
    throw new ConfigError([`SERVICE_RUN_AS: cannot switch to ${name ?? `uid ${uid}`}: ${String(error)}`])
  }
  const ids = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), process.getegid?.()]
  if (ids.join() !== [uid, uid, gid, gid].join() || canBecomeRoot())
    throw new ConfigError([`SERVICE_RUN_AS: this process could become root again after the switch to uid ${uid}`])
  // Child processes look there for their settings and caches.
  process.env.HOME = home
  if (name !== undefined) for (const variable of ['USER', 'LOGNAME']) process.env[variable] = name
  if (!isAccessible(home, WRITE)) process.env.XDG_CACHE_HOME ??= ownCacheFolder(uid)
}

function canBecomeRoot(): boolean {
  try {
    process.setuid?.(0)
    return true
  } catch {
    return false
  }
}

/** For an account without a writable home: without a cache, GStreamer scans all of its plugins at each start. */
function ownCacheFolder(uid: number): string {
  const folder = join(tmpdir(), `session-service-cache-${uid}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
    return folder
  } catch {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    // Another account may have created a folder of this name.
    const isOwn = found?.isDirectory() === true && found.uid === uid && (found.mode & 0o077) === 0
    return isOwn ? folder : mkdtempSync(`${folder}-`)
  }
}
