import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages, missingPackages } from './apt.mjs'
import { digestFolder, publish, startLog } from './cache.mjs'
import { isExecutable, run, which } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { named } from './programs.mjs'
import { Stop } from './stop.mjs'

const RECIPE = fileURLToPath(new URL('../mediasoup-worker/', import.meta.url))
const DOWNLOADER = fileURLToPath(new URL('./download.mjs', import.meta.url))
const IDLE_MS = 15_000
// A compiler of this C++ takes up to about 1.2 GB.
const MEMORY_PER_JOB = 1.5 * 2 ** 30
/** Beside a worker that was built here. */
export const LIBRARIES = 'libraries'
/** Exit status of a worker that is started without MEDIASOUP_VERSION: it proves that the binary runs here. */
const RUNS_HERE = 41

/** The cache key: another version, platform, C library or recipe is another binary. */
export const workerKey = ({ version, platform, recipe }) =>
  `mediasoup-worker-${version}-${platform.id}-${platform.libc}-${recipe}`

/** The address of the prebuilt binary, by the naming of mediasoup's install script. */
export function prebuiltUrl({ version, repository, os, arch, kernel, base }) {
  const home = base ?? `${repository.replace(/^git\+/, '').replace(/\.git$/, '')}/releases/download`
  const suffix = os === 'linux' ? `-kernel${kernel.split('.')[0]}` : ''
  return `${home}/${version}/mediasoup-worker-${version}-${os}-${arch}${suffix}.tgz`
}

/** The number of parallel compilers, limited by the memory. */
export const jobCount = (cpus, memory) => Math.max(1, Math.min(cpus, Math.floor(memory / MEMORY_PER_JOB)))

/** The progress that a line of the build's output reports; undefined for other lines. */
export function buildProgress(line) {
  const compiled = /^\[(\d+)\/(\d+)\]/.exec(line)
  if (compiled) return `compiling ${compiled[1]} of ${compiled[2]}`
  return /^== (.+)$/.exec(line)?.[1]
}

/** The path of a mediasoup-worker that runs here. */
export async function ensureWorker(context) {
  const pkg = readPackage(context.root)
  return context.report.step(`mediasoup-worker ${pkg.version}`, async (say) => {
    const given = named(context.env, 'MEDIASOUP_WORKER_BIN')
    if (given) return { ready: true, value: await checkGiven(context, given), note: given }
    const key = keyOf(context, pkg.version)
    const binary = join(context.cache, key, 'mediasoup-worker')
    if (isExecutable(binary)) return { ready: true, value: binary, note: 'cached' }
    await oneAtATime(context, `${context.cache}/mediasoup-worker`, say, () => make(context, pkg, key, say))
    return { value: binary, note: readFileSync(join(context.cache, key, 'origin'), 'utf8') }
  })
}

const keyOf = ({ platform }, version) =>
  workerKey({ version, platform, recipe: digestFolder(RECIPE, (name) => name !== 'README.md') })

/** The packages that compiling the worker needs, whether they are installed or not; none where no compilation is needed. */
export function workerBuildPackages(context) {
  if (context.env.MEDIASOUP_WORKER_BIN || context.platform.os !== 'linux') return []
  // From the lockfile: the npm packages may not be installed yet.
  const { packages } = JSON.parse(readFileSync(join(context.root, 'package-lock.json'), 'utf8'))
  const version = packages['node_modules/mediasoup']?.version
  return isExecutable(join(context.cache, keyOf(context, version), 'mediasoup-worker')) ? [] : buildPackages()
}

const buildPackages = () =>
  readFileSync(join(RECIPE, 'apt-packages.txt'), 'utf8')
    .split('\n')
    .filter((line) => /^[a-z0-9]/.test(line))

function readPackage(root) {
  const folder = join(root, 'node_modules/mediasoup')
  if (!existsSync(join(folder, 'package.json')))
    throw new Stop('the npm package mediasoup is not installed: run "npm ci".')
  const { version, repository } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { version, repository: repository.url, folder }
}

async function checkGiven(context, file) {
  if (await runsHere(file, context.signal)) return file
  throw new Stop(`MEDIASOUP_WORKER_BIN names ${file}, which is not a mediasoup-worker that runs on this machine.`)
}

async function runsHere(file, signal) {
  return (await run(file, [], { env: {}, timeoutMs: 10_000, signal })).code === RUNS_HERE
}

async function make(context, pkg, key, say) {
  if (isExecutable(join(context.cache, key, 'mediasoup-worker'))) return
  await publish(
    context.cache,
    key,
    async (folder) => {
      const out = join(folder, 'mediasoup-worker')
      const log = startLog(context.cache, 'mediasoup-worker')
      const failure = await fetchPrebuilt(context, pkg, folder, { out, log, say })
      if (failure) await buildFromSource(context, pkg, folder, { out, log, say, failure })
      writeFileSync(join(folder, 'origin'), failure ? 'built from source' : 'prebuilt')
    },
    (folder) => isExecutable(join(folder, 'mediasoup-worker')),
  )
}

/** Undefined if `out` exists and runs, else the reason. */
async function fetchPrebuilt(context, pkg, folder, { out, log, say }) {
  const { env, platform, toolchain, signal } = context
  if (env.MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD) return 'the download is switched off'
  say('looking for a prebuilt binary')
  const base = env.MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL
  const url = prebuiltUrl({ ...pkg, os: platform.os, arch: platform.arch, kernel: release(), base })
  const archive = join(folder, 'prebuilt.tgz')
  const settings = { env: { ...env, NODE_USE_ENV_PROXY: '1' }, log, signal }
  const fetched = await run(toolchain.node, [DOWNLOADER, url, archive, String(IDLE_MS)], settings)
  if (fetched.code !== 0) return `its download failed (${fetched.output.trim().split('\n').at(-1)})`
  const unpacked = await run('tar', ['-xzf', archive, '-C', folder, 'mediasoup-worker'], settings)
  rmSync(archive)
  if (unpacked.code !== 0 || !existsSync(out)) return 'its archive is damaged'
  chmodSync(out, 0o755)
  if (await runsHere(out, signal)) return undefined
  rmSync(out)
  return 'it does not run on this machine'
}

async function buildFromSource(context, pkg, folder, { out, log, say, failure }) {
  const { env, platform, report, signal } = context
  if (platform.os !== 'linux')
    throw new Stop(`no prebuilt binary is available (${failure}): compile one and name it in MEDIASOUP_WORKER_BIN.`)
  report.note(
    `no prebuilt mediasoup-worker: ${failure}; compiling it from source once, which takes one to three minutes`,
  )
  await requireBuildPackages(context, say)
  const work = join(folder, 'work')
  mkdirSync(work)
  const jobs = String(jobCount(availableParallelism(), totalmem()))
  const { code, output } = await run('bash', [join(RECIPE, 'build.sh'), work, out, pkg.folder], {
    env: { ...env, JOBS: jobs, LC_ALL: 'C.UTF-8' },
    log,
    signal,
    onLine: (line) => {
      const text = buildProgress(line)
      if (text) say(text)
    },
  })
  if (code !== 0) throw new Stop(`it could not be built from source: ${lastWords(output)}`, { log })
  if (!(await runsHere(out, signal))) throw new Stop('the binary that was built does not run on this machine.', { log })
  writeFileSync(join(folder, LIBRARIES), await linkedLibraries(context))
  rmSync(work, { recursive: true, force: true })
}

/** Debian's libraries are linked into the worker: a line with source package and version for each, for bills of materials. */
async function linkedLibraries({ env, signal }) {
  const libraries = buildPackages().filter((name) => name.startsWith('lib'))
  const format = '${source:Package}\t${source:Version}\n'
  return (await run('dpkg-query', ['-W', '-f', format, ...libraries], { env, signal })).output
}

const lastWords = (output) => output.match(/^!! (.+)$/m)?.[1] ?? 'build.sh ended early.'

async function requireBuildPackages(context, say) {
  const why = 'mediasoup-worker must be built from source'
  if (!which('apt-get', context.env))
    throw new Stop(
      `${why}, and the recipe needs Debian's packages: build it elsewhere and name it in MEDIASOUP_WORKER_BIN.`,
    )
  const missing = await missingPackages(context, buildPackages())
  if (missing.length > 0) await installPackages(context, missing, { why, say })
}
