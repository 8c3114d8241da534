// docs/metrics.md has a row for each metric of the sources, and no other one.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '../..')
/** Calls whose first argument is the name of a metric. */
const DECLARATION = /(?:metrics\.(?:counter|gauge|histogram|sampled|sampledSeries)|#export)(?:<[^>]*>)?\(\s*'(\w+)'/g
const ROW = /^\| `(\w+)`/gm

const read = (file) => readFileSync(resolve(ROOT, file), 'utf8')
const allOf = (text, pattern) => [...text.matchAll(pattern)].map(([, name]) => name)

test('docs/metrics.md lists every metric once', () => {
  const sources = globSync('{apps,libs}/*/src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'))
  const declared = new Set(sources.flatMap((file) => allOf(read(file), DECLARATION)))
  assert.ok(declared.size > 80, 'the pattern finds the declarations')
  assert.deepEqual(allOf(read('docs/metrics.md'), ROW).sort(), [...declared].sort())
})
