import { readFile } from 'node:fs/promises'

const CONVERSION = /[\\/]zod[\\/]v4[\\/]core[\\/](to-json-schema|json-schema-processors)\.js$/
const EXPORTS = /^export (?:const|function) (\w+)|^export \{ \w+ as (\w+) \}/gm

/**
 * Drops zod's conversion to JSON Schema, 5 kB (gzip) of the client library: each schema refers to it, so that esbuild
 * cannot. Schemas get their methods when they are made; only a call fails.
 */
export const withoutJsonSchema = {
  name: 'without-json-schema',
  setup({ onLoad }) {
    onLoad({ filter: CONVERSION }, async ({ path }) => {
      const names = [...(await readFile(path, 'utf8')).matchAll(EXPORTS)].map(
        ([, declared, renamed]) => declared ?? renamed,
      )
      const fail = `const fail = () => { throw new Error('this bundle has no JSON Schema') }; const make = () => fail;\n`
      const stubs = names.map((name) => `${/^create\w+Method$/.test(name) ? 'make' : 'fail'} as ${name}`)
      return { contents: `${fail}export { ${stubs.join(', ')} }` }
    })
  },
}
