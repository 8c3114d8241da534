import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findTests, isKind, kindOf } from './kinds.mjs'
import {
  busiestLines,
  skippedLines,
  slowestLines,
  failedLines,
  flakyLines,
  readJestResult,
  readTapCounts,
  readTapFailures,
  suiteLine,
  sumLine,
} from './results.mjs'

const folder = mkdtempSync(join(tmpdir(), 'results-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const jestFile = (content) => {
  const file = join(folder, 'unit.json')
  writeFileSync(file, JSON.stringify(content))
  return file
}

test('the kind of a test follows from its file name', () => {
  assert.equal(kindOf('src/a.test.ts'), 'unit')
  assert.equal(kindOf('src/a.int.test.ts'), 'integration')
  assert.equal(kindOf('src/a.media.test.ts'), 'media')
  assert.equal(kindOf('src/a.browser.test.ts'), 'browser')
  assert.equal(kindOf('src/a.ts'), undefined)
  assert.equal(isKind('media'), true)
  assert.equal(isKind('toString'), false)
})

test('each test file of a package belongs to exactly one kind', () => {
  mkdirSync(join(folder, 'src/deep'), { recursive: true })
  for (const name of ['a.test.ts', 'b.int.test.ts', 'deep/c.test.ts', 'deep/d.ts'])
    writeFileSync(join(folder, 'src', name), '')
  assert.deepEqual(findTests(folder, 'unit'), ['src/a.test.ts', 'src/deep/c.test.ts'])
  assert.deepEqual(findTests(folder, 'integration'), ['src/b.int.test.ts'])
  assert.deepEqual(findTests(folder, 'browser'), [])
})

test('a test file that did not run counts as a failed test', () => {
  const file = jestFile({
    numPassedTests: 3,
    numFailedTests: 1,
    numRuntimeErrorTestSuites: 1,
    startTime: 1000,
    testResults: [
      {
        name: '/a.test.js',
        status: 'failed',
        endTime: 1500,
        assertionResults: ['passed', 'failed', 'passed', 'passed', 'pending', 'todo'].map((status, index) => ({
          status,
          fullName: `test ${index}`,
          duration: index * 100,
        })),
      },
      { name: '/b.test.js', status: 'failed', endTime: 2500, assertionResults: [] },
    ],
  })
  assert.deepEqual(readJestResult(file), {
    passed: 3,
    failed: 2,
    skipped: 2,
    ms: 1500,
    files: [
      { file: '/a.test.js', passed: 3, failed: 1, failedTests: ['test 1'] },
      { file: '/b.test.js', passed: 0, failed: 1, failedTests: [] },
    ],
    tests: [0, 100, 200, 300, 400, 500].map((ms, index) => ({ test: `a.test.js test ${index}`, ms })),
  })
  assert.equal(readJestResult(join(folder, 'none.json')), undefined)
})

test('a node test run without counts in its output counts as failed', () => {
  assert.deepEqual(readTapCounts('# tests 4\n# pass 3\n# fail 1\n# cancelled 0\n'), { passed: 3, failed: 1 })
  assert.deepEqual(readTapCounts('# pass 3\n# fail 0\n# cancelled 2\n'), { passed: 3, failed: 2 })
  assert.deepEqual(readTapCounts('Segmentation fault'), { passed: 0, failed: 1 })
})

test('the files of failed tests are read from the output of node', () => {
  const failed = (name, file) => `not ok 2 - ${name}\n  ---\n  duration_ms: 0.3\n  location: '${file}:1:51'\n  ...\n`
  const output = `TAP version 13\nok 1 - good\n  ---\n  ...\n${failed('b', '/t.mjs')}${failed('c', '/u.mjs')}${failed('d', '/t.mjs')}`
  assert.deepEqual(readTapFailures(output), [
    { file: '/t.mjs', failed: 2 },
    { file: '/u.mjs', failed: 1 },
  ])
})

test('the summary lists the files that used the processors longest, and their sum', () => {
  const suites = [
    { suite: 'a unit', processorTimes: [{ file: 'all files', ms: 1_500 }] },
    {
      suite: 'b media',
      processorTimes: [
        { file: 'x.js', ms: 9_000 },
        { file: 'y.js', ms: 20 },
      ],
    },
    { suite: 'check lint' },
  ]
  assert.deepEqual(busiestLines(suites, 2), [
    '    10.5 s  all files',
    '     9.0 s  b media x.js',
    '     1.5 s  a unit all files',
  ])
})

test('skipped tests are in the line of their suite, and their files in the summary, but not in the last line', () => {
  const skips = [
    { file: 'dist/a.test.js', skipped: 2 },
    { file: 'dist/b.test.js', skipped: 1 },
  ]
  const suite = { suite: 'a unit', passed: 4, failed: 0, skips, ms: 0 }
  assert.match(suiteLine(suite), /^✓ a unit +4 passed, 3 skipped +0\.0 s$/)
  assert.match(suiteLine({ ...suite, failed: 1 }), /^✗ a unit +4 passed, 1 FAILED, 3 skipped /)
  assert.deepEqual(skippedLines([suite, { suite: 'check lint' }]), [
    'skipped: 2 in a unit dist/a.test.js',
    'skipped: 1 in a unit dist/b.test.js',
  ])
  assert.equal(sumLine([suite]), '4 passed, 0 failed')
})

test('the summary lists the flaky files', () => {
  assert.deepEqual(flakyLines([]), ['flaky: none'])
  assert.deepEqual(flakyLines([{ suite: 'apps/master media', file: 'dist/a.media.test.js' }]), [
    'flaky: 1 (failed, then passed when run once more alone)',
    '  flaky apps/master media dist/a.media.test.js',
  ])
})

test('the end of a run lists the failed files with their failed tests, without the flaky ones', () => {
  const failures = [
    { file: 'dist/a.media.test.js', failedTests: ['a stream ends', 'a stream starts'] },
    { file: 'dist/b.media.test.js', failedTests: ['a flaky test'] },
    { file: 'dist/c.media.test.js' },
  ]
  const suites = [
    { suite: 'apps/master media', failed: 3, failures },
    { suite: 'libs/a unit', failed: 0, failures: [] },
    { suite: 'check lint', failed: 1 },
  ]
  assert.deepEqual(failedLines(suites, [{ suite: 'apps/master media', file: 'dist/b.media.test.js' }]), [
    'failed: apps/master media dist/a.media.test.js',
    '  ✕ a stream ends',
    '  ✕ a stream starts',
    'failed: apps/master media dist/c.media.test.js',
    'failed: check lint',
  ])
  assert.deepEqual(failedLines(suites.slice(1, 2), []), [])
})

test('the summary line holds the total counts', () => {
  assert.equal(
    sumLine([
      { passed: 3, failed: 0 },
      { passed: 4, failed: 2 },
    ]),
    '7 passed, 2 failed',
  )
  assert.equal(sumLine([]), '0 passed, 0 failed')
  assert.match(suiteLine({ suite: 'a unit', passed: 2, failed: 0, ms: 1234 }), /^✓ a unit +2 passed +1\.2 s$/)
  assert.match(
    suiteLine({ suite: 'a unit', passed: 2, failed: 1, ms: 0, cached: true }),
    /^✗ .*2 passed, 1 FAILED +cached$/,
  )
})

test('the summary lists the slowest tests of all suites', () => {
  const suites = [
    { suite: 'a unit', tests: [1_000, 30_000].map((ms) => ({ test: `a.test.js takes ${ms}`, ms })) },
    { suite: 'b media', tests: [{ test: 'b.test.js is in between', ms: 2_500 }] },
    { suite: 'check lint' },
  ]
  assert.deepEqual(slowestLines(suites, 2), [
    '    30.0 s  a unit a.test.js takes 30000',
    '     2.5 s  b media b.test.js is in between',
  ])
})
