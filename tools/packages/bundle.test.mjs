import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const BUNDLE = join(import.meta.dirname, 'bundle.mjs')
const CONTRACT = { name: '@x/contract', version: '1.0.0', private: true, dependencies: { zod: '4.0.0' } }

/** A workspace of a client that bundles the contract, and what runs the hook in the client's folder. */
function workspace(t, dependencies) {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const client = { name: '@x/client', dependencies, bundleDependencies: ['@x/contract'] }
  const files = {
    'contract/package.json': JSON.stringify(CONTRACT),
    'contract/dist/index.js': 'export {}',
    'contract/dist/a.test.js': '',
    'contract/dist/.tsbuildinfo': '',
    'contract/dist/fixtures/sample.js': '',
    'client/package.json': JSON.stringify(client),
  }
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), content)
  }
  const cwd = join(folder, 'client')
  return { cwd, run: (...args) => spawnSync(process.execPath, [BUNDLE, ...args], { cwd, encoding: 'utf8' }) }
}

test('copies what a bundled package ships, without its dependencies, and removes the copy', (t) => {
  const { cwd, run } = workspace(t, { '@x/contract': '1.0.0', zod: '4.0.0' })
  const copy = join(cwd, 'node_modules/@x/contract')
  assert.equal(run().status, 0)
  assert.deepEqual(readdirSync(join(copy, 'dist')), ['index.js'])
  assert.deepEqual(JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')), {
    name: '@x/contract',
    version: '1.0.0',
  })
  assert.equal(run('--remove').status, 0)
  assert.equal(existsSync(join(cwd, 'node_modules')), false)
})

test('refuses a package that does not declare what the bundled one needs', (t) => {
  const { run } = workspace(t, { '@x/contract': '1.0.0', zod: '3.0.0' })
  const { status, stderr } = run()
  assert.equal(status, 1)
  assert.match(stderr, /must declare zod 4\.0\.0, which the bundled @x\/contract needs/)
})
