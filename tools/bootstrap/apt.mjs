import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { startLog } from './cache.mjs'
import { run, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { explainApt, Stop } from './stop.mjs'

const OPTIONS = [
  'DPkg::Lock::Timeout=600',
  'Dpkg::Use-Pty=0',
  'Acquire::Retries=3',
  'Acquire::http::Timeout=30',
  'Acquire::https::Timeout=30',
].flatMap((option) => ['-o', option])

/** The access to apt-get: 'root', 'sudo' (without a password), 'ask' (a person has to run it) or 'none'. */
export function decideAccess({ uid, apt, sudo }) {
  if (!apt) return 'none'
  if (uid === 0) return 'root'
  return sudo ? 'sudo' : 'ask'
}

/** The sentence for a person who has to install packages by hand. */
export function installSentence(access, packages, why) {
  const list = packages.join(' ')
  if (access === 'none')
    return `${why}; there is no apt-get here: install ${list} in this system's own way, then try again.`
  return `${why} and installing needs root: run "sudo apt-get install -y ${list}", then try again.`
}

/** Whether the package lists of apt are missing or outdated. */
export const needsUpdate = (output) =>
  /Unable to locate package|has no installation candidate|404\s+Not Found|Unable to fetch some archives/i.test(output)

export async function detectAccess(context) {
  const { env, uid, signal } = context
  const apt = which('apt-get', env) !== undefined && which('dpkg', env) !== undefined
  if (!apt || uid === 0) return decideAccess({ uid, apt, sudo: false })
  const sudo = which('sudo', env)
    ? (await run('sudo', ['-n', 'true'], { env, timeoutMs: 5000, signal })).code === 0
    : false
  return decideAccess({ uid, apt, sudo })
}

/** The names among `packages` that are not installed. */
export async function missingPackages(context, packages) {
  const { output } = await run('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\n', ...packages], {
    env: context.env,
    signal: context.signal,
  })
  const installed = new Set([...output.matchAll(/^(\S+) installed$/gm)].map((match) => match[1]))
  return packages.filter((name) => !installed.has(name))
}

/** Installs Debian packages; `why` begins the sentence for a person without root. */
export async function installPackages(context, packages, { why, say }) {
  const access = await detectAccess(context)
  if (access === 'ask' || access === 'none') throw new Stop(installSentence(access, packages, why))
  const log = startLog(context.cache, 'apt')
  const apt = (...args) => {
    const words = ['apt-get', ...OPTIONS, ...args]
    const settings = ['DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C.UTF-8']
    const [command, rest] =
      access === 'sudo' ? ['sudo', ['-n', 'env', ...settings, ...words]] : ['env', [...settings, ...words]]
    // Killing dpkg half-way leaves a system that must be repaired by hand.
    return run(command, rest, { env: context.env, log, signal: context.signal, gentle: true })
  }
  const result = await oneAtATime(context, 'system-packages', say, () => installOrUpdate(apt, packages, say))
  if (result.code !== 0)
    throw new Stop(`apt-get could not install ${packages.join(' ')}: ${explainApt(result.output) ?? 'it failed.'}`, {
      log,
    })
}

async function installOrUpdate(apt, packages, say) {
  const install = () => {
    say(`apt-get install ${packages.join(' ')}`)
    return apt('install', '-y', '-qq', '--no-install-recommends', ...packages)
  }
  const first = listsAreEmpty() ? { code: 100, output: 'Unable to locate package' } : await install()
  if (first.code === 0 || !needsUpdate(first.output)) return first
  say('apt-get update')
  const update = await apt('update', '-qq')
  const second = await install()
  return { ...second, output: `${update.output}\n${second.output}` }
}

function listsAreEmpty() {
  try {
    return !readdirSync('/var/lib/apt/lists').some((name) => name.includes('Packages'))
  } catch {
    return true
  }
}

/**
 * Downloads a Debian package and unpacks it into `folder`: no root, no service started by it.
 * If the package lists of the system are missing or outdated, it downloads its own.
 */
export async function unpackPackage(context, name, folder, say) {
  const { env, cache, signal } = context
  const log = startLog(cache, 'apt')
  const settings = { cwd: folder, env: { ...env, LC_ALL: 'C.UTF-8' }, log, signal }
  const apt = (options, ...args) => run('apt-get', [...OPTIONS, ...options, ...args], settings)
  say('downloading the Debian package')
  let result = await apt([], 'download', name)
  if (result.code !== 0) {
    say('reading the package lists')
    const own = ownLists(join(folder, '.apt'))
    const update = await apt(own, 'update', '-qq')
    const again = await apt(own, 'download', name)
    result = { ...again, output: `${update.output}\n${again.output}` }
  }
  const archive = readdirSync(folder).find((file) => file.startsWith(`${name}_`) && file.endsWith('.deb'))
  if (result.code !== 0 || !archive)
    throw new Stop(
      `the Debian package ${name} could not be fetched: ${explainApt(result.output) ?? 'apt-get failed.'}`,
      { log },
    )
  const unpacked = await run('dpkg-deb', ['-x', join(folder, archive), folder], { ...settings })
  if (unpacked.code !== 0)
    throw new Stop(
      `the Debian package ${name} could not be unpacked: ${explainApt(unpacked.output) ?? 'dpkg-deb failed.'}`,
      { log },
    )
}

function ownLists(folder) {
  mkdirSync(join(folder, 'lists/partial'), { recursive: true })
  mkdirSync(join(folder, 'archives/partial'), { recursive: true })
  const set = (key, value) => ['-o', `${key}=${value}`]
  return [
    ...set('Dir::State::lists', join(folder, 'lists')),
    ...set('Dir::Cache::archives', join(folder, 'archives')),
    ...set('Dir::Cache::pkgcache', ''),
    ...set('Dir::Cache::srcpkgcache', ''),
    // The lists are deleted with the folder and serve this download only; the user _apt may not enter it.
    ...set('APT::Sandbox::User', 'root'),
  ]
}
