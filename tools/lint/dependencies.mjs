// Checks what imports what: node tools/lint/dependencies.mjs
// One reading of all files serves the rules of .dependency-cruiser.cjs and the search for cycles of folders.
import { resolve } from 'node:path'
import { cruise, format } from 'dependency-cruiser'
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config'
import { folderCycles } from './folder-cycles.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const SCANNED = ['libs', 'apps', 'tools', 'bench']
/** The folders that have packages. */
const IN_PACKAGES = /^(libs|apps|tools\/launcher|bench)\//

/** The result of dependency-cruiser for the folders of a tree: `{ modules, summary }`. */
export async function readImports(root, folders) {
  const options = await extractDepcruiseOptions(resolve(ROOT, '.dependency-cruiser.cjs'))
  const tsConfig = extractTSConfig(resolve(ROOT, 'tsconfig.base.json'))
  const { output } = await cruise(folders, { ...options, baseDir: root }, undefined, { tsConfig })
  return output
}

async function main() {
  const imports = await readImports(ROOT, SCANNED)
  const { output, exitCode } = await format(imports, { outputType: 'err' })
  console.log(output)
  const cycles = folderCycles(imports.modules.filter(({ source }) => IN_PACKAGES.test(source)))
  for (const folders of cycles) console.error(`folders import each other in a cycle: ${folders.join(', ')}`)
  return exitCode > 0 || cycles.length > 0 ? 1 : 0
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main()
