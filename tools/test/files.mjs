import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findTests } from './kinds.mjs'

/** The workspace packages: `{ name, folder }`. */
export function packagesOf(root) {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return globSync(
    workspaces.map((pattern) => `${pattern}/package.json`),
    { cwd: root },
  )
    .toSorted()
    .map((file) => ({ name: JSON.parse(readFileSync(join(root, file), 'utf8')).name, folder: dirname(file) }))
}

/** Tests of the tools, which need nothing but Node, relative to the root. */
export const findToolTests = (root) =>
  globSync('tools/**/*.test.mjs', { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()

/**
 * The test files of one kind in a package: `[{ suite, kind, folder, file, source, quiet, light }]`, `file` being the
 * compiled one relative to the package.
 */
export const testFiles = (root, folder, kind) =>
  findTests(join(root, folder), kind).map((name) => {
    const source = join(root, folder, name)
    return { suite: `${folder} ${kind}`, kind, folder, file: compiled(name), source, ...marksOf(source, kind) }
  })

/** Whether the path of a source, or of what it is compiled to, has one of the parts; with no parts every path does. */
export const matches = (path, parts) =>
  parts.length === 0 || [path, compiled(path)].some((each) => parts.some((part) => each.includes(part)))

const compiled = (path) => path.replace(/(^|\/)src\//, '$1dist/').replace(/\.ts$/, '.js')

/** `{ parts, options }`: parts of names come first, options begin with a dash. */
export function splitWords(words) {
  const first = words.findIndex((word) => word.startsWith('-'))
  return first < 0 ? { parts: words, options: [] } : { parts: words.slice(0, first), options: words.slice(first) }
}

/**
 * Files that measure times say so in their first comment: at most one other file runs beside them. Those that use little
 * of the processors are light, as integration tests are: two of them may run side by side.
 */
function marksOf(source, kind) {
  const [comment = ''] = /^\/\*\*[^]*?\*\//.exec(readFileSync(source, 'utf8').slice(0, 500)) ?? []
  const quiet = /@quiet\b/.test(comment)
  return { quiet, light: quiet ? /@light\b/.test(comment) : kind === 'integration' }
}

/** A message about missing files of a run of compiled files, undefined when nothing is missing. */
export function notCompiled(root, files) {
  const missing = files.filter(({ folder, file }) => !existsSync(join(root, folder, file)))
  if (missing.length === 0) return undefined
  return `not compiled, run "npx tsc -b" first: ${missing.map(({ folder, file }) => join(folder, file)).join(', ')}`
}
