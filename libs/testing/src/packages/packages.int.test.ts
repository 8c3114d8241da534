import { globSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { budgetMs } from '@session-service/local-stack'
import { startStack } from '../stack/stack.js'
import { examplesOf, installPacked, type Project } from './installed.js'

const REST = '@session-service/rest-client'
const CLIENT = '@session-service/client'
const LIBRARY_URL = 'https://your-service/service/client/session-client.js'
const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const

let project: Project

/** The strict configuration of an application; `skipLibCheck: false` also checks the declarations of the packages. */
const configuration = (module: string, moduleResolution: string, files: string[], options: object) => ({
  compilerOptions: {
    ...{ module, moduleResolution, target: 'es2024', strict: true, noUncheckedIndexedAccess: true },
    ...{ exactOptionalPropertyTypes: true, noEmit: true, ...options },
  },
  files,
})

beforeAll(async () => {
  project = await installPacked(['rest-client', 'client'])
  // Applications install these packages.
  await project.link('@types/node')
  const readme = (name: string) => join(project.packageFolder(name), 'README.md')
  const [rest = ''] = await examplesOf(readme(REST), 'ts')
  await project.write('rest.ts', rest)
  const pages = await examplesOf(readme(CLIENT), 'ts')
  const scripts = (await examplesOf(readme(CLIENT), 'html')).map((html) => html.replace(/<\/?script.*?>/g, ''))
  expect([pages.length, scripts.length]).toEqual([4, 1])
  for (const [index, code] of [...pages, ...scripts].entries()) await project.write(`page-${index}.ts`, code)
}, budgetMs(120_000))
afterAll(() => project?.remove())

describe('the packed packages', () => {
  it.each([REST, CLIENT])('%s has the metadata of a published package and no test files', async (name) => {
    const manifest = await project.manifestOf(name)
    expect(manifest).toMatchObject({ license: 'Apache-2.0', type: 'module', version: expect.stringMatching(/^\d/) })
    expect(manifest).not.toHaveProperty('private')
    expect(manifest).not.toHaveProperty('repository')
    const files = globSync('**/*.*', { cwd: project.packageFolder(name) })
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts']))
    expect(files.filter((file) => /\.test\.|\bfixtures\b|tsbuildinfo|^src\b|recorder-bundle/.test(file))).toEqual([])
    expect(
      files.filter((file) => file.includes('node_modules') && !file.includes('@session-service/contract')),
    ).toEqual([])
  })

  it.each([REST, CLIENT])('%s contains every file that its exports name', async (name) => {
    const { exports } = await project.manifestOf(name)
    const paths = [...JSON.stringify(exports).matchAll(/"\.\/(dist[^"]+)"/g)].map(([, path = '']) => path)
    expect(paths.length).toBeGreaterThan(1)
    expect(paths.filter((path) => globSync(path, { cwd: project.packageFolder(name) }).length === 0)).toEqual([])
  })

  it.each(RESOLUTIONS)(
    'compile with their examples in a strict project (module %s, resolution %s)',
    async (module, resolution) => {
      const backend = configuration(module, resolution, ['rest.ts'], {
        lib: ['es2024'],
        types: ['node'],
        // The declarations are the same for both resolutions, and checking them takes seconds.
        skipLibCheck: resolution !== 'nodenext',
      })
      const page = configuration(module, resolution, ['page-0.ts', 'page-1.ts', 'page-2.ts'], {
        lib: ['es2024', 'dom', 'dom.iterable'],
        types: [],
        skipLibCheck: resolution !== 'bundler',
        paths: { [LIBRARY_URL]: ['./node_modules/@session-service/client/dist/bundle/session-client.d.ts'] },
      })
      for (const compiler of [6, 7] as const) {
        const outcomes = await Promise.all([project.compile(backend, compiler), project.compile(page, compiler)])
        expect(outcomes).toEqual([
          { code: 0, output: '' },
          { code: 0, output: '' },
        ])
      }
    },
    budgetMs(120_000),
  )

  it.each([6, 7] as const)(
    'reject invalid use at compile time with TypeScript %i',
    async (compiler) => {
      await project.write(
        'wrong.ts',
        `import { RestClient } from '${REST}'\nnew RestClient({ url: 'http://x', secret: 1 })\n`,
      )
      const { code, output } = await project.compile(
        configuration('nodenext', 'nodenext', ['wrong.ts'], { lib: ['es2024'], types: ['node'], skipLibCheck: true }),
        compiler,
      )
      expect([code, output]).toEqual([expect.any(Number), expect.stringContaining("Type 'number' is not assignable")])
      expect(code).not.toBe(0)
    },
    budgetMs(60_000),
  )

  it(
    'load in Node: the example of the REST client runs against a service',
    async () => {
      const stack = await startStack({ nodes: 1 })
      try {
        const env = { SERVICE_URL: stack.masterUrl, SERVICE_SECRET: stack.secret }
        const { code, output } = await project.node(['rest.ts'], env)
        expect([code, output]).toEqual([0, expect.stringMatching(/^a browser joins daily with wss?:\/\/\S+$/)])
        const wrong = await project.node(['rest.ts'], { ...env, SERVICE_SECRET: 'wrong' })
        expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('answered 401')])
      } finally {
        await stack.stop()
      }
    },
    budgetMs(120_000),
  )

  it('load in Node: the browser library has the same exports as its single file', async () => {
    const list = `const names = async (path) => Object.keys(await import(path)).toSorted().join()
      console.log((await names('${CLIENT}')) === (await names('${CLIENT}/bundle')), await names('${CLIENT}'))`
    const { code, output } = await project.node(['--input-type=module', '--eval', list])
    expect([code, output]).toEqual([0, expect.stringMatching(/^true .*\bSession\b/)])
  })
})
