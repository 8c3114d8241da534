import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'

const SCOPE = '@session-service/'
const ROOT = resolve(import.meta.dirname, '../../../..')
/** Hides the workspace and the options of the npm that runs the tests. */
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))
const Manifest = z.looseObject({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
})
type Manifest = z.infer<typeof Manifest>

/** By their major versions. */
const COMPILERS = { 6: 'typescript/bin/tsc6', 7: '@typescript/native/bin/tsc' } as const
type Compiler = keyof typeof COMPILERS

interface Run {
  code: number
  output: string
}

/** A new project with only packages from `npm pack`, their dependencies, and explicit links. */
export interface Project {
  readonly folder: string
  /** The folder of an installed package. */
  packageFolder(name: string): string
  manifestOf(name: string): Promise<Manifest>
  write(file: string, content: string): Promise<void>
  /** Links a package of the workspace. */
  link(name: string): Promise<void>
  /** Runs Node in the project. */
  node(args: string[], env?: Record<string, string>): Promise<Run>
  /** Runs a TypeScript compiler in the project and returns its output. */
  compile(configuration: unknown, compiler: Compiler): Promise<Run>
  remove(): Promise<void>
}

/** Packs copies of the libraries, which leaves the workspace unchanged, and unpacks them into a new project. */
export async function installPacked(libraries: readonly string[]): Promise<Project> {
  const base = await mkdtemp(join(tmpdir(), 'packages-'))
  const project = projectIn(join(base, 'project'), () => rm(base, { recursive: true, force: true }))
  await copyLibraries(base, [...libraries, 'contract'])
  await project.write('package.json', JSON.stringify({ private: true, type: 'module' }))
  for (const library of libraries) {
    const { dependencies } = await unpack(project, await pack(join(base, 'libs', library)))
    // No registry has packages of the workspace, so packages that are not bundled are missing, as in an application.
    const declared = Object.keys(dependencies).filter((each) => !each.startsWith(SCOPE))
    for (const each of declared) await project.link(each)
  }
  return project
}

async function copyLibraries(base: string, libraries: readonly string[]): Promise<void> {
  await symlinkIn(join(ROOT, 'tools'), join(base, 'tools'))
  for (const library of libraries)
    for (const part of ['package.json', 'README.md', 'dist'])
      await cp(join(ROOT, 'libs', library, part), join(base, 'libs', library, part), { recursive: true }).catch(
        (error: unknown) => {
          if (part !== 'README.md') throw error
        },
      )
}

async function pack(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--silent', '--offline'], { cwd: folder, env: ENV })
  return join(folder, stdout.trim().split('\n').at(-1) ?? '')
}

async function unpack(project: Project, archive: string): Promise<Manifest> {
  const unpacked = `${archive}.unpacked`
  await mkdir(unpacked)
  await promisify(execFile)('tar', ['-xzf', archive, '-C', unpacked])
  const manifest = Manifest.parse(JSON.parse(await readFile(join(unpacked, 'package/package.json'), 'utf8')))
  await cp(join(unpacked, 'package'), project.packageFolder(manifest.name), { recursive: true })
  return manifest
}

async function symlinkIn(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { force: true })
  await symlink(target, path)
}

function projectIn(folder: string, remove: () => Promise<void>): Project {
  const node = (args: string[], env: Record<string, string> = {}): Promise<Run> =>
    new Promise((done, fail) => {
      execFile(process.execPath, args, { cwd: folder, env: { ...ENV, ...env } }, (error, stdout, stderr) => {
        const code = error?.code ?? 0
        if (typeof code === 'number') return done({ code, output: `${stdout}${stderr}`.trim() })
        return fail(error)
      })
    })
  const packageFolder = (name: string): string => join(folder, 'node_modules', name)
  const write = async (file: string, content: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), content)
  }
  return {
    folder,
    packageFolder,
    manifestOf: async (name) =>
      Manifest.parse(JSON.parse(await readFile(join(packageFolder(name), 'package.json'), 'utf8'))),
    write,
    link: (name) => symlinkIn(join(ROOT, 'node_modules', name), packageFolder(name)),
    node,
    compile: async (configuration, compiler) => {
      const file = `tsconfig.${Math.random().toString(36).slice(2)}.json`
      await write(file, JSON.stringify(configuration))
      return node([join(ROOT, 'node_modules', COMPILERS[compiler]), '--project', file])
    },
    remove,
  }
}

/** The code blocks in a language from the README of a package. */
export async function examplesOf(readme: string, language: string): Promise<string[]> {
  const text = await readFile(readme, 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)
}
