import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runFiles, sumRuns } from './lanes.mjs'

const root = mkdtempSync(join(tmpdir(), 'lanes-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** Runs files, `{ name: source }`, as `npm test` does; what each came to, and the files whose time was noted. */
async function runAll(sources, { options = [], quiet = [], kind = 'integration' } = {}) {
  const files = Object.entries(sources).map(([name, source]) => {
    const file = `${name}.test.js`
    writeFileSync(join(root, file), `import { test } from '@jest/globals'\n${source}`)
    return { suite: `a ${kind}`, folder: '.', file, kind, quiet: quiet.includes(name) }
  })
  const noted = []
  const runs = []
  let saves = 0
  const durations = {
    expected: () => 1,
    note: (suite, path, ms) => noted.push([suite, path, ms > 0]),
    save: () => saves++,
  }
  await runFiles(files, { root, durations, options, take: (each) => runs.push(each) })
  assert.equal(saves, 1)
  return { runs, noted }
}

async function run(name, source, options) {
  const { runs, noted } = await runAll({ [name]: source }, { options })
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

test('a suite lists its files with skipped tests', async () => {
  const { runs } = await runAll({
    most: `test('one', () => {}); test.skip('two', () => {}); test.todo('three')`,
    all: `test('one', () => {})`,
  })
  assert.deepEqual(sumRuns('a integration', runs).skips, [{ file: 'most.test.js', skipped: 2 }])
})

const pids = ({ runs }) => Object.fromEntries(runs.map(({ file, tests }) => [file[0], tests[0].test.split(' ').at(-1)]))

test('the unit tests of a package run one after another in one process, and their times are not noted', async () => {
  const sources = Object.fromEntries(
    [...'abcdefghijklmn'].map((name) => [name, `test('pid ' + process.pid, () => {})`]),
  )
  const ended = await runAll(sources, { kind: 'unit' })
  assert.equal(Object.keys(pids(ended)).length, 14)
  assert.equal(new Set(Object.values(pids(ended))).size, 1)
  assert.deepEqual(ended.noted, [])
})

test('files share processes, unless they are quiet or only some tests are wanted', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const sources = Object.fromEntries(names.map((name) => [name, `test('pid ' + process.pid, () => {})`]))
  const { a, ...others } = pids(await runAll(sources, { quiet: ['a'] }))
  assert.ok(new Set(Object.values(others)).size < 6)
  assert.equal(Object.values(others).includes(a), false)
  const alone = pids(await runAll(sources, { options: ['-t', 'pid'] }))
  assert.equal(new Set(Object.values(alone)).size, 7)
})
