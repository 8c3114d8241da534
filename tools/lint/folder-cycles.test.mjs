import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folderCycles } from './folder-cycles.mjs'

const modules = (imports) =>
  Object.entries(imports).map(([source, targets]) => ({
    source,
    dependencies: targets.map((resolved) => ({ resolved })),
  }))

test('folders that import in one direction have no cycle', () => {
  const found = folderCycles(modules({ 'src/api/a.ts': ['src/data/b.ts', 'src/api/c.ts'], 'src/data/b.ts': [] }))
  assert.deepEqual(found, [])
})

test('two folders that import each other through different files are a cycle', () => {
  const found = folderCycles(modules({ 'src/api/a.ts': ['src/data/b.ts'], 'src/data/c.ts': ['src/api/d.ts'] }))
  assert.deepEqual(found, [['src/api', 'src/data']])
})

test('a folder and its subfolder that import each other are a cycle', () => {
  const found = folderCycles(modules({ 'src/a.ts': ['src/inner/b.ts'], 'src/inner/c.ts': ['src/d.ts'] }))
  assert.deepEqual(found, [['src', 'src/inner']])
})

test('a longer cycle is found once, with all of its folders', () => {
  const found = folderCycles(
    modules({ 'a/1.ts': ['b/1.ts'], 'b/2.ts': ['c/1.ts'], 'c/2.ts': ['a/2.ts'], 'd/1.ts': ['a/1.ts'] }),
  )
  assert.deepEqual(found, [['a', 'b', 'c']])
})

test('tests, fixtures and the index of a package may import everything', () => {
  const found = folderCycles(
    modules({
      'src/a.ts': ['src/inner/b.ts'],
      'src/inner/b.test.ts': ['src/a.ts'],
      'src/inner/fixtures/c.ts': ['src/a.ts'],
      'libs/x/src/index.ts': ['libs/x/src/inner/b.ts'],
      'libs/x/src/inner/b.ts': ['libs/x/src/property.ts'],
    }),
  )
  assert.deepEqual(found, [])
})
