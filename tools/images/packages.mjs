// The packages of npm that a program needs at run time: those inside its bundle, and files of those outside of it.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { EXTERNAL } from '../bundles/programs.mjs'

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/
/** An optional native binding of pg, and those that koffi selects by the platform. */
const NOT_TRACED = ['pg-native', '@koromix/*']

const analyse = (root, entry, external) =>
  build({
    absWorkingDir: root,
    ...entry,
    external,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outdir: join(root, 'dist'),
    logLevel: 'error',
  })

const nameOf = (specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
const isBuiltin = (specifier) => specifier.startsWith('node:') || builtinModules.includes(specifier)

/** `{ inside, outside }`: folders of the packages in the bundles, and names of those that the bundles import. */
export async function bundledPackages(root, entries) {
  const { metafile } = await analyse(root, { entryPoints: entries }, EXTERNAL)
  const inside = Object.keys(metafile.inputs).flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])
  const outside = Object.values(metafile.inputs)
    .flatMap(({ imports }) => imports)
    .filter(
      ({ external, kind, path }) =>
        external && kind === 'import-statement' && !path.startsWith('<') && !isBuiltin(path),
    )
    .map(({ path }) => nameOf(path))
  return { inside: unique(inside), outside: unique(outside) }
}

/**
 * The files of packages that are reachable by an import and by a call of require, which may be different ones, relative to
 * the root; with manifests and licenses.
 */
export async function traceFiles(root, names) {
  if (names.length === 0) return { files: [], folders: [] }
  const contents = names.map((name) => `import '${name}'; require('${name}')`).join('\n')
  const { metafile } = await analyse(root, { stdin: { contents, resolveDir: root } }, NOT_TRACED)
  const code = Object.keys(metafile.inputs).filter((path) => PACKAGE.test(path))
  const folders = unique(code.flatMap((path) => PACKAGE.exec(path)?.[0] ?? []))
  return { files: [...code, ...folders.flatMap((folder) => documentsOf(root, folder))], folders }
}

/** The manifest and the license texts of a package. */
export const documentsOf = (root, folder) =>
  readdirSync(join(root, folder))
    .filter((name) => /^(package\.json|(licen[cs]e|notice|copying)(\..*)?)$/i.test(name))
    .map((name) => join(folder, name))

/** Folders of packages with their dependencies; optional ones only where they are installed. */
export function withDependencies(root, names) {
  const found = new Set()
  const visit = (name, from, optional) => {
    const folder = locate(root, name, from)
    if (folder === undefined && !optional) throw new Error(`the package ${name} is not installed`)
    if (folder === undefined || found.has(folder)) return
    found.add(folder)
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(root, folder)
    for (const each of Object.keys(dependencies)) visit(each, folder, each in optionalDependencies)
    for (const each of Object.keys(optionalDependencies)) visit(each, folder, true)
  }
  for (const name of names) visit(name, '.', false)
  return [...found].sort()
}

function locate(root, name, from) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name)
    if (existsSync(join(root, folder, 'package.json'))) return folder
    if (at === '.') return undefined
  }
}

export const manifestOf = (root, folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

const unique = (values) => [...new Set(values)].sort()
