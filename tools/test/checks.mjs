import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { compilerArgs } from '../bootstrap/compiler.mjs'

/** A file that was found formatted is checked again only once its text or the options have changed. */
const ONLY_CHANGED = ['--cache', '--cache-strategy', 'content']

const bin = (root, file) => join(root, 'node_modules', file)

/** The static checks: `{ name, args }`, args for Node. `types` comes first, because later checks read the compiled files. */
export function checksOf(root) {
  const generator = join(root, 'tools/generate/run.mjs')
  return [
    { name: 'types', args: compilerArgs(root) },
    {
      name: 'format',
      args: [bin(root, 'prettier/bin/prettier.cjs'), '--check', ...ONLY_CHANGED, '--log-level', 'warn', '.'],
    },
    { name: 'lint', args: [bin(root, 'oxlint/bin/oxlint'), '--deny-warnings', '--quiet'] },
    { name: 'dependencies', args: [join(root, 'tools/lint/dependencies.mjs')] },
    ...(existsSync(generator) ? [{ name: 'generated', args: [generator, '--check'] }] : []),
    { name: 'chart', args: [join(root, 'tools/chart/check.mjs')] },
    { name: 'openapi', args: [join(root, 'tools/test/lint-openapi.mjs')] },
  ]
}
