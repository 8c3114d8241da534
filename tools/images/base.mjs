// A base image without a registry: Debian by debootstrap, with the Node and npm that run this script.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheRoot, openCache } from '../bootstrap/cache.mjs'
import { detectPlatform } from '../bootstrap/platform.mjs'
import { NPM_VERSION, nodeSuits, planToolchain, readNodePin } from '../bootstrap/toolchain.mjs'

const SUITE = 'bookworm'
export const baseName = (node) => `localhost/session-service/base:${SUITE}-node${node}`

/** The npm package of the bootstrap's tool chain. */
function npmFolder(pinned) {
  const cache = openCache(cacheRoot(process.env, homedir()))
  const keys = ['0.0.0', process.versions.node].map(
    (running) => planToolchain({ running, pinned, platform: detectPlatform() }).key,
  )
  const found = keys.map((key) => join(cache, key, 'node_modules/npm')).find((folder) => existsSync(folder))
  if (found === undefined)
    throw new Error(`npm ${NPM_VERSION} is not in the cache: run "node tools/bootstrap/run.mjs check" first`)
  return found
}

/** Builds the image unless it exists; returns its name. Needs root, as debootstrap does. */
export function ensureBase(root, { run, exists, buildImage, work = tmpdir() }) {
  const pinned = readNodePin(root)
  const name = baseName(pinned)
  if (exists(name)) return name
  if (!nodeSuits(process.versions.node, pinned))
    throw new Error(
      `the base image gets the Node that runs this script: run it with Node ${pinned}, this is ${process.versions.node}`,
    )
  const folder = mkdtempSync(join(work, 'image-base-'))
  try {
    const target = join(folder, 'root')
    run('debootstrap', ['--variant=minbase', SUITE, target])
    addNode(target, npmFolder(pinned))
    for (const path of ['var/cache/apt/archives', 'var/lib/apt/lists', 'var/log']) {
      rmSync(join(target, path), { recursive: true, force: true })
      mkdirSync(join(target, path), { recursive: true })
    }
    mkdirSync(join(target, 'var/cache/apt/archives/partial'))
    writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nADD root/ /\nCMD ["node"]\n')
    buildImage(name, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return name
}

function addNode(target, npm) {
  const bin = join(target, 'usr/local/bin')
  const modules = join(target, 'usr/local/lib/node_modules')
  mkdirSync(modules, { recursive: true })
  cpSync(realpathSync(process.execPath), join(bin, 'node'))
  cpSync(npm, join(modules, 'npm'), { recursive: true })
  const { bin: programs } = JSON.parse(readFileSync(join(npm, 'package.json'), 'utf8'))
  for (const [name, file] of Object.entries(programs))
    symlinkSync(join('../lib/node_modules/npm', file), join(bin, name))
}
