import { join } from 'node:path'
import { installPackages, installSentence, missingPackages } from './apt.mjs'
import { digest, digestFolder, listFiles, publish, startLog } from './cache.mjs'
import { isExecutable, run, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { named } from './programs.mjs'
import { Stop } from './stop.mjs'

const COMPILER = ['gcc', 'libc6-dev', 'pkg-config', 'libgstreamer1.0-dev', 'libgstreamer-plugins-base1.0-dev']
/** The sources that all programs have in common. */
const SHARED = 'apps/media-node/native'
const OPTIONS = ['-O2', '-Wall', '-Wextra']
const PROBE_MS = 30_000

/** The Debian packages of the GStreamer elements that all programs load. */
export const GSTREAMER = ['base', 'good', 'bad', 'ugly']
  .map((quality) => `gstreamer1.0-plugins-${quality}`)
  .concat('gstreamer1.0-libav')

/**
 * A program in C that is compiled once for each version of its sources and tried out:
 * `name`: of the program in messages and in the cache; `variable`: names a program to use instead;
 * `folder`: its sources, in addition to the shared ones; `libraries`: of pkg-config; `options`: of gcc;
 * `runtime`: Debian packages that it loads; `why`: begin of the sentence that asks for packages;
 * `otherwise`: how to do without it; `without`: begin of the warning that it is missing; `prepare`: what is needed first;
 * `tryOut(talk, folder)`: gives the reason why the program does not work here.
 */

/** The cache key: another platform, C library or source is another binary. */
export const programKey = (name, { platform, sources }) => `${name}-${platform.id}-${platform.libc}-${sources}`

/** The packages that the program needs here, whether they are installed or not. */
export function programPackages(context, program) {
  if (context.env[program.variable] || context.platform.os !== 'linux') return []
  return isExecutable(placeOf(context, program).binary) ? program.runtime : [...program.runtime, ...COMPILER]
}

/**
 * The path of a program that runs here. With `optional` a failure becomes a warning, and the result is undefined. A
 * program that the environment names must work in any case.
 */
export async function ensureOptional(context, program, { optional }) {
  const given = await programOfEnvironment(context, program)
  try {
    await program.prepare?.(context)
    return await ensureProgram(context, program, given)
  } catch (error) {
    if (!optional || !(error instanceof Stop)) throw error
    context.report.warn(`${program.without}: ${error.message}`)
    return undefined
  }
}

/** Names the GStreamer elements that are missing here. */
export async function tryOutElements(say) {
  const output = await say('check\nstop\n')
  const missing = /"event":"checked","missing":"(.*)"/.exec(output)?.[1]
  if (missing === undefined) return 'it ended early.'
  return missing === '' ? undefined : `GStreamer lacks ${missing}.`
}

async function programOfEnvironment(context, { name, variable }) {
  const file = named(context.env, variable)
  if (file === undefined || (await talk(context, file, '')).includes('"ready"')) return file
  throw new Stop(`${variable} names ${file}, which is not a ${name} that runs on this machine.`)
}

/** `given`: the program of the environment. */
async function ensureProgram(context, program, given) {
  const { name, variable, otherwise } = program
  const { cache, platform, report } = context
  return report.step(name, async (say) => {
    if (given) return { ready: true, value: given, note: given }
    if (platform.os !== 'linux')
      throw new Stop(
        `the ${name} runs on Linux only: compile it elsewhere and name it in ${variable}${otherwise ? `, or ${otherwise}` : ''}.`,
      )
    const { key, binary } = placeOf(context, program)
    const installed = await installMissing(context, program, say)
    if (isExecutable(binary)) return { ready: !installed, value: binary, note: 'cached' }
    await oneAtATime(context, `${cache}/${name}`, say, () => build(context, program, key, say))
    return { value: binary, note: 'built from source' }
  })
}

const isSource = (name) => /\.[ch]$/.test(name)

function placeOf({ root, cache, platform }, { name, folder }) {
  const sources = digest(...[folder, SHARED].map((part) => digestFolder(join(root, part), isSource)))
  const key = programKey(name, { platform, sources })
  return { key, binary: join(cache, key, name) }
}

/** True if packages were installed. Without dpkg the build reports what is missing. */
async function installMissing(context, program, say) {
  if (!which('dpkg-query', context.env)) return false
  const missing = await missingPackages(context, programPackages(context, program))
  if (missing.length === 0) return false
  await installPackages(context, missing, { why: program.why, say })
  return true
}

async function build(context, program, key, say) {
  const { name } = program
  if (isExecutable(join(context.cache, key, name))) return
  const log = startLog(context.cache, name)
  await publish(
    context.cache,
    key,
    async (folder) => {
      const binary = join(folder, name)
      say('compiling')
      await compile(context, program, binary, log)
      say('testing it')
      const reason = await program.tryOut((input) => talk(context, binary, input, log), folder)
      if (reason !== undefined) throw new Stop(`the ${name} does not work on this machine: ${reason}`, { log })
    },
    (folder) => isExecutable(join(folder, name)),
  )
}

async function compile({ root, env, signal }, { name, folder, libraries, options, why }, binary, log) {
  const settings = { env: { ...env, LC_ALL: 'C.UTF-8' }, log, signal }
  const flags = await run('pkg-config', ['--cflags', '--libs', ...libraries], settings)
  if (flags.code !== 0)
    throw new Stop(installSentence('none', ['the development files of GStreamer', 'pkg-config'], why), { log })
  const sources = [folder, SHARED].flatMap((part) => listFiles(join(root, part)))
  const units = sources.filter((file) => file.endsWith('.c'))
  const words = [...OPTIONS, ...options, '-o', binary, ...units, ...flags.output.trim().split(/\s+/)]
  const { code } = await run('gcc', words, settings)
  if (code === 127) throw new Stop(installSentence('none', ['gcc'], why), { log })
  if (code !== 0) throw new Stop(`the ${name} could not be compiled.`, { log })
}

async function talk({ env, signal }, binary, input, log) {
  return (await run(binary, [], { env, input, log, signal, timeoutMs: PROBE_MS })).output
}
