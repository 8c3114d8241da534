import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureBuild } from './build.mjs'
import { recordedReport, temporaryFolder, writeTree } from './fixtures.mjs'

/** A compiler in the place of tsc: it copies, counts, and fails where a source says so. */
const COMPILER = `const fs = require('fs'), path = require('path')
const root = process.cwd()
fs.appendFileSync(path.join(root, 'compiled'), 'x')
const source = fs.readFileSync(path.join(root, 'libs/a/src/index.ts'), 'utf8')
if (source.includes('error')) { console.log('libs/a/src/index.ts(1,1): error TS1000'); process.exit(2) }
fs.mkdirSync(path.join(root, 'libs/a/dist'), { recursive: true })
fs.writeFileSync(path.join(root, 'libs/a/dist/index.js'), source)`

function workspace(t) {
  const root = writeTree(temporaryFolder(t), {
    'package.json': { workspaces: ['libs/*'] },
    'libs/a/package.json': { name: 'a' },
    'libs/a/src/index.ts': 'one',
    'node_modules/@typescript/native/bin/tsc': COMPILER,
    'tools/bundles/part.mjs': '',
    'tools/build-bundles.mjs': "import { appendFileSync } from 'node:fs'\nappendFileSync('bundled', 'x')",
  })
  const context = {
    root,
    env: process.env,
    pinned: '24.21.0',
    toolchain: { node: process.execPath },
    report: recordedReport().report,
  }
  return { root, build: () => ensureBuild(context), times: (name) => readFileSync(join(root, name), 'utf8').length }
}

test('an unchanged workspace is built once', async (t) => {
  const { build, times } = workspace(t)
  await build()
  await build()
  assert.equal(times('compiled'), 1)
  assert.equal(times('bundled'), 1)
})

for (const [what, change] of [
  ['a source changed', (root) => writeTree(root, { 'libs/a/src/index.ts': 'other' })],
  ['a source was added', (root) => writeTree(root, { 'libs/a/src/more.ts': '' })],
  ['a project was added', (root) => writeTree(root, { 'libs/b/package.json': { name: 'b' } })],
  ['a part of the bundler changed', (root) => writeTree(root, { 'tools/bundles/part.mjs': 'export {}' })],
  ['a part of the bundler was added', (root) => writeTree(root, { 'tools/bundles/more.mjs': '' })],
  ['the arguments of the compiler changed', (root) => writeTree(root, { 'tools/bootstrap/compiler.mjs': 'other' })],
  ['an output was removed', (root) => rmSync(join(root, 'libs/a/dist'), { recursive: true })],
  ['the packages changed', (root) => writeTree(root, { 'node_modules/.bootstrap/packages': 'other' })],
  ['node_modules was created again', (root) => rmSync(join(root, 'node_modules/.bootstrap'), { recursive: true })],
]) {
  test(`built again when ${what}`, async (t) => {
    const { root, build, times } = workspace(t)
    await build()
    change(root)
    await build()
    assert.equal(times('compiled'), 2)
    assert.equal(times('bundled'), 2)
    await build()
    assert.equal(times('compiled'), 2)
  })
}

test('not built again when a test of the bundler changed', async (t) => {
  const { root, build, times } = workspace(t)
  await build()
  writeTree(root, { 'tools/bundles/part.test.mjs': '' })
  await build()
  assert.equal(times('bundled'), 1)
})

test('a failed build is repeated', async (t) => {
  const { root, build, times } = workspace(t)
  writeTree(root, { 'libs/a/src/index.ts': 'error' })
  await assert.rejects(build(), { name: 'Stop', message: /compiling failed/ })
  await assert.rejects(build(), { name: 'Stop' })
  assert.equal(times('compiled'), 2)
  writeTree(root, { 'libs/a/src/index.ts': 'mended' })
  await build()
  assert.equal(readFileSync(join(root, 'libs/a/dist/index.js'), 'utf8'), 'mended')
})
