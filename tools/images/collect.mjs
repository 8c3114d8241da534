// Collects what images and installations without containers consist of, after a build:
// node tools/bootstrap/run.mjs image tools/images/collect.mjs <folder> [image …]
// <folder>/<image>/ is then the root of the image: app/ with the program, its packages and licenses.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'
import { readStamp } from '../bootstrap/cache.mjs'
import { LIBRARIES } from '../bootstrap/worker.mjs'
import { EXTERNAL } from '../bundles/programs.mjs'
import { IMAGES, PROGRAMS } from './contents.mjs'
import { bundledPackages, documentsOf, manifestOf, traceFiles, withDependencies } from './packages.mjs'
import { bom, npmComponent } from './sbom.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const SHARE = 'usr/share/session-service'
/** Files of packages that no program reads. */
const isUsed = (path) => !/(\.d\.[cm]?ts|\.md|\.map)$/i.test(path) || /licen[cs]e/i.test(path)

function copy(from, to, filter = () => true) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true, dereference: true, filter })
}

/** Every import of a bundle that stays outside must be in the image. */
function requireComplete(name, outside, { traced, whole = [] }) {
  const missing = outside.filter((each) => ![...traced, ...whole].includes(each))
  if (missing.length > 0) throw new Error(`contents.mjs: the image ${name} lacks ${missing.join(', ')}`)
}

function copyPrograms({ programs = [], optional = [] }, out, env) {
  for (const variable of programs) {
    const from = env[variable]
    if (from === undefined && optional.includes(variable)) continue
    if (from === undefined)
      throw new Error(`${variable} is not set: run this script with tools/bootstrap/run.mjs image`)
    copy(from, join(out, PROGRAMS[variable]))
  }
}

/** One file, which needs none of the packages of its sources. */
const bundleSlot = (entry, out) =>
  build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile: join(out, 'app', entry),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    keepNames: true,
    external: EXTERNAL,
    logLevel: 'warning',
  })

/** A program that ends because of an invalid property has loaded all its modules. */
const INVALID = { SERVICE_LOG_LEVEL: 'invalid', SERVICE_URL: 'invalid' }
const EX_CONFIG = 78

/** Starts what was collected, outside of the project with its packages. The process of a slot kills itself without a parent. */
function checkStarts(name, { app, slot }, out) {
  const start = (file) => spawnSync(process.execPath, [join(out, 'app', file)], { env: INVALID, encoding: 'utf8' })
  const program = start(`${app}/dist/bundle/main.js`)
  if (program.status !== EX_CONFIG)
    throw new Error(`the program of the image ${name} does not start: ${program.stderr}`)
  const ended = slot && start(slot)
  if (ended && ended.signal !== 'SIGKILL') throw new Error(`${slot} does not start: ${ended.stderr}`)
}

const LOCK = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
const componentOf = (folder) => npmComponent({ ...manifestOf(ROOT, folder), integrity: LOCK[folder]?.integrity })

/** The worker, and Debian's libraries that are linked into one that was built here. */
function workerComponents(env) {
  const { version } = manifestOf(ROOT, 'node_modules/mediasoup')
  const own = { type: 'application', 'bom-ref': 'mediasoup-worker', name: 'mediasoup-worker', version }
  const libraries =
    readStamp(join(dirname(env.MEDIASOUP_WORKER_BIN), LIBRARIES))
      ?.trim()
      .split('\n') ?? []
  const linked = libraries.map((line) => {
    const [name, source] = line.split('\t')
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(source)}?arch=source`
    return { type: 'library', 'bom-ref': `mediasoup-worker/${purl}`, name, version: source, purl }
  })
  return [own, ...linked]
}

/** The license texts of packages whose code is in bundles, which contain no comments. */
const licenseTexts = (folders) =>
  folders
    .map((folder) => {
      const { name, version, license } = manifestOf(ROOT, folder)
      const texts = documentsOf(ROOT, folder).filter((file) => !file.endsWith('package.json'))
      const body = texts.map((file) => readFileSync(join(ROOT, file), 'utf8').trim()).join('\n\n')
      return `${name} ${version} (${license ?? 'no license named'})\n\n${body}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)

async function collect(name, image, out, env) {
  rmSync(out, { recursive: true, force: true })
  const { inside, outside } = await bundledPackages(ROOT, image.entries)
  requireComplete(name, outside, image)
  const traced = await traceFiles(ROOT, image.traced)
  const whole = withDependencies(ROOT, image.whole ?? [])
  for (const entry of image.files) {
    const [from, to] = Array.isArray(entry) ? entry : [entry, entry]
    copy(join(ROOT, from), join(out, 'app', to))
  }
  for (const path of [...traced.files, ...whole]) copy(join(ROOT, path), join(out, 'app', path), isUsed)
  if (image.slot) await bundleSlot(image.slot, out)
  copyPrograms(image, out, env)
  checkStarts(name, image, out)
  const components = [
    ...new Set([...inside, ...traced.folders, ...whole, ...image.files.flatMap((file) => packageIn(file))]),
  ].map((folder) => componentOf(folder))
  if (image.programs) components.push(...workerComponents(env))
  const { version } = manifestOf(ROOT, image.app)
  const part = bom({ name: `session-service/${name}`, version, components: deduplicate(components) })
  mkdirSync(join(out, SHARE), { recursive: true })
  writeFileSync(join(out, SHARE, 'packages.cdx.json'), `${JSON.stringify(part, null, 1)}\n`)
  copy(join(ROOT, 'tools/images/sbom.mjs'), join(out, SHARE, 'sbom.mjs'))
  copy(join(ROOT, 'LICENSE'), join(out, 'app/LICENSE'))
  writeFileSync(join(out, 'app/THIRD-PARTY-LICENSES.txt'), licenseTexts(inside))
}

const packageIn = (file) => (typeof file === 'string' && /^node_modules\/[^@/]+(?=\/)/.exec(file)?.[0]) || []

/** Two folders may hold the same version of a package. */
const deduplicate = (components) => [...new Map(components.map((each) => [each['bom-ref'], each])).values()]

const [folder, ...names] = process.argv.slice(2)
if (folder === undefined || names.some((name) => !(name in IMAGES))) {
  console.error(`usage: collect.mjs <folder> [image …]; images: ${Object.keys(IMAGES).join(', ')}`)
  process.exit(2)
}
for (const name of names.length > 0 ? names : Object.keys(IMAGES)) {
  await collect(name, IMAGES[name], join(resolve(folder), name), process.env)
  console.log(`${name}: ${join(folder, name)}`)
}
