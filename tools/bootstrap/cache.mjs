import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Stop } from './stop.mjs'

const LEFTOVER_AGE_MS = 24 * 3600 * 1000
const LOG_AGE_MS = 14 * LEFTOVER_AGE_MS

/** The folder of everything that outlasts a clone. */
export function cacheRoot(env, home) {
  if (env.SESSION_SERVICE_CACHE) return resolve(env.SESSION_SERVICE_CACHE)
  const base = env.XDG_CACHE_HOME?.startsWith('/') ? env.XDG_CACHE_HOME : join(home, '.cache')
  return join(base, 'session-service')
}

export function openCache(root) {
  try {
    mkdirSync(join(root, 'tmp'), { recursive: true })
  } catch (error) {
    throw new Stop(
      `the cache folder ${root} is not writable (${error.code}): set SESSION_SERVICE_CACHE to a writable one.`,
    )
  }
  return root
}

/** Path of the log of one step of this process: runs that share a cache must not overwrite each other's log. */
export function startLog(root, name) {
  const folder = join(root, 'logs')
  mkdirSync(folder, { recursive: true })
  sweep(folder, LOG_AGE_MS)
  return join(folder, `${name}-${process.pid}.log`)
}

/** First 16 hex digits of the SHA-256 of the parts, each with its length. */
export function digest(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex').slice(0, 16)
}

/** Digest of the names and contents of all files under a folder. */
export function digestFolder(folder, keep = () => true) {
  const parts = listFiles(folder).filter((file) => keep(relative(folder, file)))
  return digest(...parts.flatMap((file) => [relative(folder, file), readFileSync(file)]))
}

export function listFiles(folder, enter = () => true) {
  const found = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (enter(entry.name)) found.push(...listFiles(path, enter))
    } else if (entry.isFile()) found.push(path)
  }
  return found.sort()
}

/**
 * Fills the folder `<root>/<key>`: `fill(draft)` writes into an empty folder, which is then renamed, so no process ever
 * sees half of it. A folder that exists already stays when `isComplete(folder)`; else it is replaced.
 */
export async function publish(root, key, fill, isComplete = () => true) {
  const target = join(root, key)
  const temporary = join(root, 'tmp')
  const draft = join(temporary, randomUUID())
  sweep(temporary, LEFTOVER_AGE_MS)
  mkdirSync(draft, { recursive: true })
  try {
    await fill(draft)
    moveInto(draft, target, () => isComplete(target))
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return target
}

function moveInto(draft, target, isComplete) {
  try {
    renameSync(draft, target)
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    // Another process was faster, and its folder is as good.
    if (isComplete()) return
    const broken = `${draft}.broken`
    renameSync(target, broken)
    renameSync(draft, target)
    rmSync(broken, { recursive: true, force: true })
  }
}

/** Removes what killed processes left in a folder. */
function sweep(folder, ageMs) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
      if (Date.now() - statSync(path).mtimeMs > ageMs) rmSync(path, { recursive: true, force: true })
    } catch {
      // Another process removed it at the same time.
    }
  }
}

/** The text of a stamp file; undefined when it does not exist. */
export function readStamp(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Writes a stamp file atomically. */
export function writeStamp(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${randomUUID()}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}
