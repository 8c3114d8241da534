// Builds the images: node tools/images/build.mjs [options]; --help lists them.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { which } from '../bootstrap/exec.mjs'
import { ensureBase } from './base.mjs'
import { builderOf, imageNames, TARGETS } from './builders.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const HELP = `Builds the images session-service/{master,media-node,playground}, and media-node with the suffix -full.

Usage: node tools/images/build.mjs [options]

  --target <name>     only this one of ${TARGETS.join(', ')}; can be repeated
  --tool <name>       docker, podman or buildah (the first that works)
  --base <image>      base image with Node; "debootstrap" makes one without a registry (needs root)
  --prefix <text>     before the names, such as registry.example.org/team/
  --tag <text>        instead of the version
  --platform <list>   linux/amd64, linux/arm64 or both; other processors than this one need emulation (binfmt)
  --ca <file>         certificate authorities to trust while building
  --layouts           media-node-full with Chromium, for recordings of pages
  --storage <folder>  buildah: folder of its images
  --work <folder>     folder of temporary files with --base debootstrap
  --sbom <folder>     copy the bill of materials of each image there
  --help              show this help
`

const OPTIONS = {
  target: { type: 'string', multiple: true, default: [] },
  tool: { type: 'string' },
  base: { type: 'string' },
  prefix: { type: 'string', default: '' },
  tag: { type: 'string' },
  platform: { type: 'string' },
  ca: { type: 'string' },
  layouts: { type: 'boolean', default: false },
  storage: { type: 'string' },
  work: { type: 'string' },
  sbom: { type: 'string' },
  help: { type: 'boolean' },
}

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', cwd: ROOT, ...options })
  if (status !== 0)
    throw new Error(`${command} ${args[0]} failed${error ? `: ${error.message}` : ` with code ${status}`}`)
}

const output = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', cwd: ROOT, maxBuffer: 2 ** 28, ...options }).trim()

/** Undefined outside of a clone. */
function revision() {
  try {
    return output('git', ['rev-parse', 'HEAD'], { stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}

/** docker answers "version" only with its daemon. */
const works = (tool) =>
  which(tool, process.env) !== undefined && spawnSync(tool, ['version'], { stdio: 'ignore' }).status === 0

function main(argv) {
  const { values } = parseArgs({ args: argv, options: OPTIONS })
  if (values.help) return void process.stdout.write(HELP)
  const unknown = values.target.filter((name) => !TARGETS.includes(name))
  if (unknown.length > 0) throw new Error(`--target: ${unknown.join(', ')} is none of ${TARGETS.join(', ')}`)
  const tool = values.tool ?? ['docker', 'podman', 'buildah'].find(works)
  if (tool === undefined) throw new Error('no docker with a daemon, podman or buildah is installed')
  const builder = builderOf(tool, { storage: values.storage, env: process.env })
  const call = (args) => run(builder.command, args, { env: builder.env })
  const base =
    values.base === 'debootstrap'
      ? ensureBase(ROOT, {
          run,
          work: values.work,
          exists: (name) =>
            spawnSync(builder.command, builder.exists(name), { stdio: 'ignore', env: builder.env }).status === 0,
          buildImage: (name, folder) =>
            call(builder.build({ name, file: join(folder, 'Dockerfile'), context: folder })),
        })
      : values.base
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const tag = values.tag ?? version
  for (const target of values.target.length > 0 ? values.target : TARGETS) {
    const name = imageNames(values.prefix, tag)[target]
    const args = { BASE: base, LAYOUTS: values.layouts ? 'true' : undefined }
    const labels = { version, revision: revision() }
    const file = 'deploy/images/Dockerfile'
    call(builder.build({ name, file, context: '.', target, args, labels, ca: values.ca, platform: values.platform }))
    if (values.sbom) saveSbom(builder, name, target, resolve(values.sbom))
    console.log(`built ${name}`)
  }
}

function saveSbom(builder, name, target, folder) {
  mkdirSync(folder, { recursive: true })
  const to = join(folder, `${target}.cdx.json`)
  rmSync(to, { force: true })
  builder.copyOut(name, '/usr/share/session-service/sbom.cdx.json', to, output, { env: builder.env })
}

try {
  main(process.argv.slice(2))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
