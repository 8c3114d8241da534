import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Stop } from './stop.mjs'

const LEFTOVER_AGE_MS = 24 * 3600 * 1000

/** Where everything lives that outlasts a clone. */
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
      `the cache folder ${root} cannot be written (${error.code}): set SESSION_SERVICE_CACHE to one that can.`,
    )
  }
  return root
}

/** The path of a log that holds this run alone. */
export function startLog(root, name) {
  const file = join(root, 'logs', `${name}.log`)
  rmSync(file, { force: true })
  return file
}

/** First 16 hex digits of the SHA-256 of the parts, each delimited. */
export function digest(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex').slice(0, 16)
}

/** Digest of all files under a folder: their names and contents. */
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

/** The folder `<root>/<key>`, filled by `fill(emptyFolder)` and moved there whole: never half of it is seen. */
export async function publish(root, key, fill) {
  const target = join(root, key)
  const draft = join(root, 'tmp', randomUUID())
  sweep(join(root, 'tmp'))
  mkdirSync(draft, { recursive: true })
  try {
    await fill(draft)
    moveInto(draft, target)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return target
}

function moveInto(draft, target) {
  try {
    renameSync(draft, target)
  } catch (error) {
    // Somebody else was first; theirs is as whole as ours.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  }
}

function sweep(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
      if (Date.now() - statSync(path).mtimeMs > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true })
    } catch {
      // Another run swept it at the same time.
    }
  }
}

/** The text of a stamp, undefined when there is none. */
export function readStamp(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Written whole or not at all. */
export function writeStamp(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${randomUUID()}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}
