import { existsSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { digest, listFiles, readStamp, writeStamp } from './cache.mjs'
import { compilerArgs } from './compiler.mjs'
import { run } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { workspaceFolders } from './packages.mjs'
import { Stop } from './stop.mjs'

const STAMP = 'node_modules/.bootstrap/build'
const PACKAGES = 'node_modules/.bootstrap/packages'
const BUNDLER = 'tools/build-bundles.mjs'
const BUNDLER_PARTS = 'tools/bundles'
const COMPILER = 'tools/bootstrap/compiler.mjs'

/** Digest of names, sizes and modification times. */
const digestTimes = (root, files) =>
  digest(
    ...files.flatMap((file) => {
      const { size, mtimeMs } = statSync(file)
      return [relative(root, file), `${size} ${mtimeMs}`]
    }),
  )

/** Digests of the workspace: `{ sources, outputs }`. While both are those after the last build, nothing is built. */
export function scan(root) {
  const folders = workspaceFolders(root).map((folder) => join(root, folder))
  const isSource = (name) => name !== 'node_modules' && name !== 'dist' && !name.startsWith('.')
  const single = ['package.json', 'tsconfig.json', 'tsconfig.base.json', BUNDLER, COMPILER, PACKAGES]
    .map((file) => join(root, file))
    .filter(existsSync)
  const parts = [join(root, BUNDLER_PARTS)]
    .filter(existsSync)
    .flatMap((folder) => listFiles(folder))
    .filter((file) => !file.endsWith('.test.mjs'))
  const sources = [...single, ...parts, ...folders.flatMap((folder) => listFiles(folder, isSource))]
  const outputs = folders
    .map((folder) => join(folder, 'dist'))
    .filter(existsSync)
    .flatMap((folder) => listFiles(folder))
  return { sources: digestTimes(root, sources), outputs: digestTimes(root, outputs) }
}

const stampText = ({ sources, outputs }, node) => `${node} ${sources} ${outputs}`

/** Compiles all projects and bundles what browsers load, unless nothing changed since. */
export async function ensureBuild(context) {
  const { root, report, pinned } = context
  const stamp = join(root, STAMP)
  const upToDate = () => readStamp(stamp) === stampText(scan(root), pinned)
  await report.step('build', async (say) => {
    if (upToDate()) return { ready: true, note: 'nothing changed' }
    await oneAtATime(context, `${root}/build`, say, () => build(context, say, stamp, upToDate))
  })
}

async function build(context, say, stamp, upToDate) {
  if (upToDate()) return
  const { root, pinned, toolchain, env, signal } = context
  // Taken before: a source that is saved while the compiler runs must not count as built.
  const { sources } = scan(root)
  const call = async (what, ...args) => {
    say(what)
    const { code, output } = await run(toolchain.node, args, { cwd: root, env, signal })
    if (code !== 0) {
      process.stderr.write(`\n${output.trimEnd()}\n\n`)
      throw new Stop(`${what} failed, the reason is above.`)
    }
  }
  await call('compiling', ...compilerArgs(root))
  if (existsSync(join(root, BUNDLER))) await call('bundling', join(root, BUNDLER))
  writeStamp(stamp, stampText({ sources, outputs: scan(root).outputs }, pinned))
}
