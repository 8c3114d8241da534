import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runJest } from './jest-run.mjs'

const folder = mkdtempSync(join(tmpdir(), 'jest-run-'))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'dist'))

function run(name, source, options) {
  const file = join(folder, 'dist', `${name}.test.js`)
  writeFileSync(file, source)
  return runJest({ folder, files: [file], results: join(folder, `${name}.json`), options: [], ...options })
}

test('a run reports its counts, and the output of failed tests', async () => {
  const source = `test('good', () => {}); test('bad', () => expect(1).toBe(2))`
  const { passed, failed, output, failedFiles } = await run('plain', source)
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 })
  assert.deepEqual(failedFiles, [{ file: join(folder, 'dist/plain.test.js'), passed: 1, failed: 1 }])
  assert.match(output, /● bad/)
})

test('a file that cannot be loaded counts as failed', async () => {
  const { passed, failed } = await run('broken', `throw new Error('at once')`)
  assert.deepEqual({ passed, failed }, { passed: 0, failed: 1 })
})

test('an open handle that a test leaves fails the run, and the output names it', async () => {
  const source = `test('leaves a server', () => { require('node:net').createServer().listen(0) })`
  const { passed, failed, output } = await run('open', source, { endTimeoutMs: 500 })
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 })
  assert.match(output, /open: .*1 TCPServerWrap/)
})

test('the explicit timeout of a test is multiplied by the slowness of the machine', async () => {
  const source = `test('waits', () => new Promise((done) => setTimeout(done, 400)), 200)`
  assert.equal((await run('reference', source, { env: { TEST_SLOWNESS: '1' } })).failed, 1)
  assert.equal((await run('slow', source, { env: { TEST_SLOWNESS: '8' } })).passed, 1)
})
