import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const DOCUMENT = 'docs/architecture.md'
/** The folders that paths in the document start at. */
const BASES = ['', 'apps/master/src', 'apps/media-node', 'apps/media-node/src', 'libs/client']

const files = (text) => [...text.matchAll(/`([\w.-]+\/[\w./-]+\.(?:ts|mjs|c|md|yaml|json))`/g)].map(([, path]) => path)
const isThere = (path) => BASES.some((base) => existsSync(join(ROOT, base, path)))

test('each file that the architecture names exists', () => {
  const named = files(readFileSync(join(ROOT, DOCUMENT), 'utf8'))
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter((path) => !isThere(path)),
    [],
  )
})
