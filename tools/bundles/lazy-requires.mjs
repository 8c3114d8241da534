import { readFile } from 'node:fs/promises'

/** Packages that TypeScript compiled to CommonJS, and whose modules do nothing but define what they export. */
const PACKAGES = /[\\/]node_modules[\\/](mediasoup|mediasoup-client|typeorm)[\\/].*\.js$/
const REQUIRE = /^(?:const|var) (\w+_\d+) = (require\("\.[^"]*"\));$/gm

/** Puts each `require` of a module of the same package where its exports are used. */
export function requireAtUse(text) {
  const required = [...text.matchAll(REQUIRE)]
  return required.reduce((rest, [statement, name, call]) => {
    const uses = new RegExp(`\\b${name}\\b(?=\\.)`, 'g')
    const others = rest.replace(statement, '').replace(uses, '')
    return new RegExp(`\\b${name}\\b`).test(others) ? rest : rest.replace(statement, '').replace(uses, `(${call})`)
  }, text)
}

/** A plugin of esbuild: these modules run once something of them is used, most of them never. */
export const lazyRequires = {
  name: 'lazy-requires',
  setup({ onLoad }) {
    onLoad({ filter: PACKAGES }, async ({ path }) => ({ contents: requireAtUse(await readFile(path, 'utf8')) }))
  },
}
