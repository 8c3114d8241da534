import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runTestFile } from './jest-run.mjs'

const folder = mkdtempSync(join(tmpdir(), 'jest-run-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function runOne(name, source, options) {
  const file = join(folder, `${name}.test.mjs`)
  writeFileSync(file, `import { afterAll, expect, jest, test } from '@jest/globals'\n${source}`)
  return runTestFile({ file, results: join(folder, `${name}.json`), options: [], ...options })
}

test('the explicit timeout of a test is multiplied by the slowness of the machine', async () => {
  const source = `test('waits', () => new Promise((done) => setTimeout(done, 400)), 200)`
  assert.equal((await runOne('reference', source, { env: { TEST_SLOWNESS: '1' } })).failed, 1)
  assert.equal((await runOne('slow', source, { env: { TEST_SLOWNESS: '8' } })).passed, 1)
})

test('the run of one file reports its counts, its times, what it printed, and the output of failed tests', async () => {
  const source = `console.log('printed')\ntest('good', () => {})\ntest('bad', () => expect(1).toBe(2))`
  const { passed, failed, output, failedFiles, tests } = await runOne('file', source)
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 })
  assert.deepEqual(failedFiles, [{ file: join(folder, 'file.test.mjs'), passed: 1, failed: 1, failedTests: ['bad'] }])
  assert.deepEqual(
    tests.map(({ test: name }) => name),
    ['file.test.mjs good', 'file.test.mjs bad'],
  )
  assert.match(output, /printed/)
  assert.match(output, /● bad[^]*Expected: 2[^]*> 4 \| test\('bad'/)
})

test('a file that cannot be loaded, and a file without tests, fail with the reason', async () => {
  const broken = await runOne('no-module', `throw new Error('at once')`)
  assert.deepEqual([broken.passed, broken.failed], [0, 1])
  assert.match(broken.output, /at once/)
  const empty = await runOne('empty', '')
  assert.deepEqual([empty.passed, empty.failed], [0, 1])
  assert.match(empty.output, /has no tests/)
})

test('a rejection without a handler, an error of afterAll and a time-out fail the file', async () => {
  const sources = {
    rejection: `test('forgets', async () => {
      void Promise.reject(new Error('forgotten'))
      await new Promise((done) => setTimeout(done, 20))
    })`,
    hook: `test('good', () => {}); afterAll(() => { throw new Error('forgotten') })`,
    late: `jest.setTimeout(50); test('waits', () => new Promise(() => {})) // forgotten`,
  }
  for (const [name, source] of Object.entries(sources)) {
    const { failed, output } = await runOne(name, source)
    assert.equal(failed, 1, name)
    assert.match(output, /forgotten/, name)
  }
})

test('the option -t chooses tests of a file, and any other option fails', async () => {
  const source = `test('good', () => {}); test('bad', () => expect(1).toBe(2))`
  const chosen = await runOne('chosen', source, { options: ['-t', 'good'] })
  assert.deepEqual([chosen.passed, chosen.failed], [1, 0])
  const refused = await runOne('refused', source, { options: ['--bail'] })
  assert.deepEqual([refused.passed, refused.failed], [0, 1])
  assert.match(refused.output, /Unknown option '--bail'/)
})

test('an open handle that a test leaves fails the run, and the output names it', async () => {
  const source = `import net from 'node:net'; test('leaves a server', () => { net.createServer().listen(0) })`
  const ended = await runOne('open', source, { endTimeoutMs: 500 })
  assert.deepEqual([ended.passed, ended.failed], [1, 1])
  assert.match(ended.output, /open: .*1 TCPServerWrap/)
})
