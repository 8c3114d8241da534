// Hook of `npm pack` in a folder beside libs/contract: `bundle.mjs` puts a copy of each bundled package of the workspace
// under node_modules, where npm looks for it, and `bundle.mjs --remove` removes the copies.
// npm cannot bundle the links of a workspace: it adds their dependencies to the archive by paths outside of it.
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const folder = process.cwd()
const readManifest = (from) => JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
const isShipped = (path) => !/\.(test\.(js|d\.ts)|map|tsbuildinfo)$|(^|\/)fixtures$/.test(path)

/** Without dependencies, which the bundling package declares: else npm would bundle them too. */
function bundledManifest(source, { dependencies: declared }) {
  const { name, version, license, type, sideEffects, exports, dependencies = {} } = readManifest(source)
  for (const [dependency, wanted] of Object.entries(dependencies))
    if (declared[dependency] !== wanted)
      throw new Error(`${folder}/package.json must declare ${dependency} ${wanted}, which the bundled ${name} needs`)
  return { name, version, license, type, sideEffects, exports }
}

function copyBundled(name, target, manifest) {
  const source = join(folder, '..', basename(name))
  const bundled = bundledManifest(source, manifest)
  cpSync(join(source, 'dist'), join(target, 'dist'), {
    recursive: true,
    filter: (path) => isShipped(relative(source, path)),
  })
  writeFileSync(join(target, 'package.json'), JSON.stringify(bundled, null, 2))
}

/** Leaves the folder as it was before. */
function removeEmptyFolders(from) {
  for (let each = from; each !== folder; each = dirname(each)) {
    if (!existsSync(each)) continue
    if (readdirSync(each).length > 0) return
    rmdirSync(each)
  }
}

const manifest = readManifest(folder)
for (const name of manifest.bundleDependencies) {
  const target = join(folder, 'node_modules', name)
  rmSync(target, { recursive: true, force: true })
  if (process.argv.includes('--remove')) removeEmptyFolders(dirname(target))
  else copyBundled(name, target, manifest)
}
