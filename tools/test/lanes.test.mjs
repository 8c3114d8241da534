import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileJobs } from './lanes.mjs'

const root = mkdtempSync(join(tmpdir(), 'lanes-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** Runs a file as `npm test` does; the counts, and whether its time was noted for the order of the next run. */
async function run(name, source, options = []) {
  writeFileSync(join(root, `${name}.test.js`), `import { test } from '@jest/globals'\n${source}`)
  const file = { suite: 'a integration', folder: '.', file: `${name}.test.js`, kind: 'integration', quiet: false }
  const noted = []
  const runs = []
  const durations = { expected: () => 1, note: (suite, path, ms) => noted.push([suite, path, ms > 0]) }
  const [job] = fileJobs([file], { root, durations, options, take: (each) => runs.push(each) })
  await job.run('1/2')
  const [{ passed, failed }] = runs
  return { passed, failed, noted }
}

test('the time of a file whose tests have passed is noted', async () => {
  const noted = [['a integration', 'whole.test.js', true]]
  assert.deepEqual(await run('whole', `test('one', () => {})`), { passed: 1, failed: 0, noted })
})

test('the time of a file is not noted when a test failed, none ran, or only some were wanted', async () => {
  const failing = await run('failing', `test('one', () => { throw new Error('no') })`)
  assert.deepEqual(failing, { passed: 0, failed: 1, noted: [] })
  const skipped = await run('skipped', `test.skip('one', () => {})`)
  assert.deepEqual(skipped, { passed: 0, failed: 0, noted: [] })
  const some = await run('some', `test('one', () => {}); test('two', () => {})`, ['-t', 'one'])
  assert.deepEqual(some, { passed: 1, failed: 0, noted: [] })
})
