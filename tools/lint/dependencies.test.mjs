// Proves that the dependency rules reject what they exist for: each test lays out a small tree and cruises it.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { readImports } from './dependencies.mjs'

const ROOT = resolve(import.meta.dirname, '../..')

/** The names of the rules that the files break. */
async function brokenRules(files) {
  const tree = mkdtempSync(join(tmpdir(), 'dependencies-'))
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(tree, path)), { recursive: true })
      writeFileSync(join(tree, path), text)
    }
    for (const folder of ['libs', 'apps']) mkdirSync(join(tree, folder), { recursive: true })
    const { summary } = await readImports(tree, ['libs', 'apps'])
    return [...new Set(summary.violations.map(({ rule }) => rule.name))].toSorted()
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

const MASTER = 'apps/master/src'

test('accepts a folder that imports a lower layer', async () => {
  const files = {
    [`${MASTER}/streams/a.ts`]: "import { b } from '../sessions/b.js'\nexport const a = b\n",
    [`${MASTER}/sessions/b.ts`]: 'export const b = 1\n',
  }
  assert.deepEqual(await brokenRules(files), [])
})

test('rejects an import of a higher layer of the master', async () => {
  const files = {
    [`${MASTER}/sessions/a.ts`]: "import { b } from '../streams/b.js'\nexport const a = b\n",
    [`${MASTER}/streams/b.ts`]: 'export const b = 1\n',
  }
  assert.deepEqual(await brokenRules(files), ['master-sessions-imports-lower-layers-only'])
})

test('rejects an import of a higher layer also for a type alone', async () => {
  const files = {
    [`${MASTER}/events/a.ts`]: "import type { B } from './cdr/b.js'\nexport type A = B\n",
    [`${MASTER}/events/cdr/b.ts`]: 'export type B = 1\n',
  }
  assert.deepEqual(await brokenRules(files), ['master-events-imports-lower-layers-only'])
})

test('rejects a folder of the master that has no layer', async () => {
  const files = {
    [`${MASTER}/new-feature/a.ts`]: "import { b } from '../sessions/b.js'\nexport const a = b\n",
    [`${MASTER}/sessions/b.ts`]: 'export const b = 1\n',
  }
  assert.deepEqual(await brokenRules(files), ['master-folders-have-a-layer'])
})

test('rejects the use of an entity of another feature', async () => {
  const files = {
    [`${MASTER}/streams/a.ts`]: "import { B } from '../sessions/b.entity.js'\nexport const a = B\n",
    [`${MASTER}/sessions/b.entity.ts`]: 'export class B {}\n',
  }
  assert.deepEqual(await brokenRules(files), ['a-feature-keeps-its-entities'])
})

test('rejects an app that imports another app, and a library that imports an app', async () => {
  const files = {
    'apps/playground/src/a.ts': "import { b } from '../../master/src/sessions/b.js'\nexport const a = b\n",
    'libs/rest-client/src/c.ts': "import { b } from '../../../apps/master/src/sessions/b.js'\nexport const c = b\n",
    [`${MASTER}/sessions/b.ts`]: 'export const b = 1\n',
  }
  assert.deepEqual(await brokenRules(files), [
    'an-app-never-imports-another-app',
    'libraries-know-no-app',
    'rest-client-depends-on-contract',
  ])
})
