// Plugins with which esbuild leaves out the parts of packages that nothing uses.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Rewrites the import of zod in our compiled modules (`filter`): esbuild removes unused code from a namespace import (four
 * fifths of zod in a page), not from `z`.
 */
export const shakeZod = (filter) => ({
  name: 'shake-zod',
  setup({ onLoad }) {
    onLoad({ filter }, async ({ path }) => ({ contents: namespaceOfZod(await readFile(path, 'utf8')) }))
  },
})

export const namespaceOfZod = (text) => text.replace(/^import \{ z \} from 'zod'/m, "import * as z from 'zod'")

/**
 * Bundles the ES modules of rxjs, of which esbuild keeps what is used: for Node the package names its CommonJS modules.
 */
export const shakeRxjs = (root) => ({
  name: 'shake-rxjs',
  setup({ onResolve }) {
    onResolve({ filter: /^rxjs(\/operators)?$/ }, ({ path }) => ({
      path: join(root, 'node_modules', path.replace('rxjs', 'rxjs/dist/esm'), 'index.js'),
      sideEffects: false,
    }))
  },
})

const STATEMENT = /^(?:im|ex)port (?:\* as (\w+)|(\w+)|\{([^}]*)\}|(\*)) from '([^']+)'/gm

/** The names that an ES module uses of each module it imports by a statement, by specifier; `*`: perhaps all. */
export function importedNames(text) {
  const found = new Map()
  for (const [, namespace, defaultName, named, all, specifier] of text.matchAll(STATEMENT)) {
    const names = namespace ? membersOf(namespace, text) : named?.split(',').map((each) => each.trim().split(' ')[0])
    const used = names?.filter(Boolean) ?? [all ?? (defaultName && 'default')]
    found.set(specifier, new Set([...(found.get(specifier) ?? []), ...used]))
  }
  return found
}

/** `name.member` in the text, but not within a longer name or a path. */
const membersOf = (name, text) =>
  [...text.matchAll(new RegExp(`(?<![-.\\w])${name}\\.(\\w+)`, 'g'))].map(([, member]) => member)
