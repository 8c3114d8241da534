import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, installSentence, missingPackages } from './apt.mjs'
import { digestFolder, listFiles, publish, startLog } from './cache.mjs'
import { isExecutable, run, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { ensureFfmpeg, named } from './programs.mjs'
import { Stop } from './stop.mjs'

const SOURCES = 'apps/media-node/compositor'
const LIBRARIES = ['gstreamer-1.0', 'gstreamer-video-1.0']
/** Packages that the compositor loads at run time: its GStreamer elements, and a font for names. */
const RUNTIME = [
  'gstreamer1.0-plugins-base',
  'gstreamer1.0-plugins-good',
  'gstreamer1.0-plugins-bad',
  'gstreamer1.0-plugins-ugly',
  'gstreamer1.0-libav',
  'gstreamer1.0-x',
  'fonts-dejavu-core',
]
const COMPILER = ['gcc', 'libc6-dev', 'pkg-config', 'libgstreamer1.0-dev', 'libgstreamer-plugins-base1.0-dev']
const WHY = 'recording needs GStreamer'
const PROBE_MS = 30_000

/** The cache key: another platform, C library or source is another binary. */
export const compositorKey = ({ platform, sources }) => `compositor-${platform.id}-${platform.libc}-${sources}`

/**
 * Prepares ffmpeg and returns the path of a compositor that runs here. With `optional` a failure disables recording with
 * a warning, and the result is undefined.
 */
export async function ensureRecording(context, { optional }) {
  const given = await ofEnvironment(context)
  try {
    await ensureFfmpeg(context)
    return await ensureCompositor(context, given)
  } catch (error) {
    if (!optional || !(error instanceof Stop)) throw error
    context.report.warn(`recording is disabled: ${error.message}`)
    return undefined
  }
}

/** The packages that a compositor needs here, whether they are installed or not. */
export function compositorPackages(context) {
  if (context.env.COMPOSITOR_BIN || context.platform.os !== 'linux') return []
  return isExecutable(placeOf(context).binary) ? RUNTIME : [...RUNTIME, ...COMPILER]
}

function placeOf({ root, cache, platform }) {
  const folder = join(root, SOURCES)
  const key = compositorKey({ platform, sources: digestFolder(folder, isSource) })
  return { folder, key, binary: join(cache, key, 'compositor') }
}

async function ensureCompositor(context, given) {
  const { cache, platform, report } = context
  return report.step('compositor', async (say) => {
    if (given) return { ready: true, value: given, note: given }
    if (platform.os !== 'linux')
      throw new Stop(
        'the compositor runs on Linux only: compile it elsewhere and name it in COMPOSITOR_BIN, or set SERVICE_RECORDING=false.',
      )
    const { folder, key, binary } = placeOf(context)
    const installed = await installMissing(context, compositorPackages(context), say)
    if (isExecutable(binary)) return { ready: !installed, value: binary, note: 'cached' }
    await oneAtATime(context, `${cache}/compositor`, say, () => build(context, folder, key, say))
    return { value: binary, note: 'built from source' }
  })
}

const isSource = (name) => /\.[ch]$/.test(name)

/** A compositor that the environment names must work, also where recording is optional. */
async function ofEnvironment(context) {
  const file = named(context.env, 'COMPOSITOR_BIN')
  if (file === undefined || (await talk(context, file, '')).includes('"ready"')) return file
  throw new Stop(`COMPOSITOR_BIN names ${file}, which is not a compositor that runs on this machine.`)
}

/** True if packages were installed. Without dpkg the build reports what is missing. */
async function installMissing(context, packages, say) {
  if (!which('dpkg-query', context.env)) return false
  const missing = await missingPackages(context, packages)
  if (missing.length === 0) return false
  await installPackages(context, missing, { why: WHY, say })
  return true
}

async function build(context, sources, key, say) {
  if (isExecutable(join(context.cache, key, 'compositor'))) return
  const log = startLog(context.cache, 'compositor')
  await publish(
    context.cache,
    key,
    async (folder) => {
      const binary = join(folder, 'compositor')
      say('compiling')
      await compile(context, sources, binary, log)
      say('testing it')
      await tryOut(context, folder, binary, log)
    },
    (folder) => isExecutable(join(folder, 'compositor')),
  )
}

async function compile({ env, signal }, sources, binary, log) {
  const settings = { env: { ...env, LC_ALL: 'C.UTF-8' }, log, signal }
  const flags = await run('pkg-config', ['--cflags', '--libs', ...LIBRARIES], settings)
  if (flags.code !== 0)
    throw new Stop(installSentence('none', ['the development files of GStreamer', 'pkg-config'], WHY), { log })
  const files = listFiles(sources).filter((file) => file.endsWith('.c'))
  const { code } = await run('gcc', ['-O2', '-o', binary, ...files, ...flags.output.trim().split(/\s+/)], settings)
  if (code === 127) throw new Stop(installSentence('none', ['gcc'], WHY), { log })
  if (code !== 0) throw new Stop('the compositor could not be compiled.', { log })
}

/** Records a short file, so that a missing element is reported now and by its name. */
async function tryOut(context, folder, binary, log) {
  const file = join(folder, 'trial.mp4')
  const lines = [['start', 160, 120, 10, 1, 1, 100, 64, 100, file], ['tile', 'name', 0, 0, 80, 60, 1, 'Name'], ['stop']]
  const output = await talk(context, binary, lines.map((words) => `${words.join('\t')}\n`).join(''), log)
  const message = /"event":"error".*"message":"(.*)"/.exec(output)?.[1]
  if (message !== undefined || !output.includes('"event":"stopped"'))
    throw new Stop(`the compositor does not work on this machine: ${message ?? 'it ended early.'}`, { log })
  rmSync(file)
}

async function talk({ env, signal }, binary, input, log) {
  return (await run(binary, [], { env, input, log, signal, timeoutMs: PROBE_MS })).output
}
