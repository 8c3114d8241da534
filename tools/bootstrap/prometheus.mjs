import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unpackPackage } from './apt.mjs'
import { publish } from './cache.mjs'
import { isExecutable, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { named, stepForTests } from './programs.mjs'
import { Stop } from './stop.mjs'

const PROGRAMS = ['prometheus', 'promtool']

/** Both programs are in one folder. */
const areIn = (folder) => PROGRAMS.every((name) => isExecutable(join(folder, name)))

/** Prometheus with promtool beside it, which the environment names or the system has; undefined without one. */
export function findPrometheus(env) {
  const program = named(env, 'PROMETHEUS_BIN') ?? which('prometheus', env)
  return program && areIn(dirname(program)) ? program : undefined
}

/**
 * The path of Prometheus, against which dashboards and alerts are tested; undefined with a note where it cannot be fetched.
 * The Debian package is unpacked into the cache instead of installed: that needs no root, and the installed package would
 * start a server.
 */
export const ensurePrometheus = (context) => stepForTests(context, 'Prometheus', (say) => findOrUnpack(context, say))

async function findOrUnpack(context, say) {
  const { env, cache, platform } = context
  const given = findPrometheus(env)
  if (given) return { ready: true, value: given, note: given }
  const key = `prometheus-${platform.id}`
  const folder = join(cache, key)
  const program = join(folder, 'prometheus')
  if (areIn(folder)) return { ready: true, value: program, note: 'cached' }
  if (!which('apt-get', env)) throw new Stop('it is missing, and there is no apt-get here.')
  await oneAtATime(context, `${cache}/${key}`, say, () => unpack(context, key, say))
  return { value: program, note: 'from the Debian package' }
}

async function unpack(context, key, say) {
  if (areIn(join(context.cache, key))) return
  const fill = async (folder) => {
    const work = join(folder, '.package')
    mkdirSync(work)
    await unpackPackage(context, 'prometheus', work, say)
    for (const name of PROGRAMS) {
      const program = join(work, 'usr/bin', name)
      if (!existsSync(program)) throw new Stop(`the Debian package prometheus does not contain ${name}.`)
      renameSync(program, join(folder, name))
    }
    for (const name of readdirSync(folder))
      if (!PROGRAMS.includes(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  await publish(context.cache, key, fill, areIn)
}
