import { readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installPackages, installSentence, unpackPackage } from './apt.mjs'
import { publish } from './cache.mjs'
import { isExecutable, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { Stop } from './stop.mjs'

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const MAC_CHROMIUM = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

const FIREFOX_NAMES = ['firefox-esr', 'firefox']
const MAC_FIREFOX = '/Applications/Firefox.app/Contents/MacOS/firefox'

/** A program that the environment names, undefined when it names none; Stop when what it names cannot be run. */
export function named(env, variable) {
  if (!env[variable]) return undefined
  const file = resolve(env[variable])
  if (!isExecutable(file)) throw new Stop(`${variable} names ${file}, which is not an executable program.`)
  return file
}

/**
 * The path of nats-server. On Debian the package is unpacked into the cache instead of installed: that needs no root,
 * and the installed package would start a server.
 */
export async function ensureNats(context) {
  const { env, cache, platform, report } = context
  return report.step('nats-server', async (say) => {
    const given = named(env, 'NATS_SERVER_BIN') ?? which('nats-server', env)
    if (given) return { ready: true, value: given, note: given }
    const key = `nats-server-${platform.id}`
    const program = join(cache, key, 'usr/sbin/nats-server')
    if (isExecutable(program)) return { ready: true, value: program, note: 'cached' }
    if (!which('apt-get', env)) throw new Stop(natsSentence(platform))
    await oneAtATime(context, `${cache}/${key}`, say, () => unpackNats(context, key, program, say))
    return { value: program, note: 'from the Debian package' }
  })
}

const natsSentence = ({ os }) =>
  os === 'darwin'
    ? 'it is missing: run "brew install nats-server", then try again.'
    : installSentence('none', ['nats-server'], 'it is missing')

async function unpackNats(context, key, program, say) {
  if (isExecutable(program)) return
  await publish(
    context.cache,
    key,
    async (folder) => {
      await unpackPackage(context, 'nats-server', folder, say)
      if (!isExecutable(join(folder, 'usr/sbin/nats-server')))
        throw new Stop('the Debian package nats-server does not contain the program.')
      for (const name of readdirSync(folder))
        if (name !== 'usr') rmSync(join(folder, name), { recursive: true, force: true })
    },
    (folder) => isExecutable(join(folder, 'usr/sbin/nats-server')),
  )
}

/** The path of an installed Chromium or Chrome; undefined without one. */
export const findChromium = (env) =>
  named(env, 'CHROMIUM_BIN') ??
  CHROMIUM_NAMES.map((name) => which(name, env)).find(Boolean) ??
  MAC_CHROMIUM.find(isExecutable)

/** The path of a Chromium or Chrome. */
export async function ensureChromium(context) {
  const find = () => findChromium(context.env)
  return context.report.step('Chromium', async (say) => {
    const given = find()
    if (given) return { ready: true, value: given, note: given }
    await installFor(context, ['chromium'], find, 'the browser tests need Chromium', say)
    return { value: find() }
  })
}

/** The path of an installed Firefox; undefined without one. */
export const findFirefox = (env) =>
  named(env, 'FIREFOX_BIN') ??
  FIREFOX_NAMES.map((name) => which(name, env)).find(Boolean) ??
  [MAC_FIREFOX].find(isExecutable)

/** The path of a Firefox; undefined with a note where it cannot be installed. */
export async function ensureFirefox(context) {
  const find = () => findFirefox(context.env)
  return stepForTests(context, 'Firefox', async (say) => {
    const given = find()
    if (given) return { ready: true, value: given, note: given }
    await installFor(context, ['firefox-esr'], find, 'tests in Firefox need it', say)
    return { value: find() }
  })
}

/** The value of a step that only some tests need; undefined with a note where it stops. */
export async function stepForTests({ report }, name, task) {
  try {
    return await report.step(name, task)
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    report.note(`${error.step}: ${error.message} Tests that need it are skipped.`)
    return undefined
  }
}

/** The path of an ffmpeg with ffprobe beside it. */
export const findFfmpeg = (env) => (which('ffprobe', env) ? which('ffmpeg', env) : undefined)

export const findTurnServer = (env) => which('turnserver', env)

/** ffmpeg with ffprobe. */
export async function ensureFfmpeg(context) {
  const find = () => findFfmpeg(context.env)
  return context.report.step('ffmpeg', async (say) => {
    const given = find()
    if (given) return { ready: true, value: given, note: given }
    await installFor(context, ['ffmpeg'], find, 'recording needs ffmpeg', say)
    return { value: find() }
  })
}

/** coturn, against which the TURN credentials are tested. */
export async function ensureTurnServer(context) {
  const find = () => findTurnServer(context.env)
  return context.report.step('coturn', async (say) => {
    const given = find()
    if (given) return { ready: true, value: given, note: given }
    await installFor(context, ['coturn'], find, 'the tests need coturn', say)
    return { value: find() }
  })
}

async function installFor(context, packages, find, why, say) {
  await installPackages(context, packages, { why, say })
  if (!find()) throw new Stop(`the package ${packages.join(' ')} is installed but does not contain the program.`)
}
