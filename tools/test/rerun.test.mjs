import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rerunFailures } from './rerun.mjs'

const SUITES = [
  {
    suite: 'apps/a media',
    passed: 5,
    failed: 3,
    failures: [
      { file: 'x.js', passed: 2, failed: 1 },
      { file: 'y.js', passed: 1, failed: 2 },
    ],
  },
  { suite: 'tools node', passed: 7, failed: 1, failures: [{ file: 'z.mjs', failed: 1 }] },
  { suite: 'check lint', passed: 0, failed: 1 },
]

async function rerun(suites, answers) {
  const runs = []
  const lines = []
  const runAlone = async (suite, file) => {
    runs.push(`${suite} ${file}`)
    return answers[file]
  }
  return { ...(await rerunFailures(suites, runAlone, (line) => lines.push(line))), runs, log: lines.join('\n') }
}

const summary = ({ suite, passed, failed }) => ({ suite, passed, failed })

test('a file that passes alone counts as passed and is listed as flaky; one that fails again stays failed', async () => {
  const { suites, flaky, runs, log } = await rerun(SUITES, {
    'x.js': { passed: 3, failed: 0, output: 'second output of x' },
    'y.js': { passed: 2, failed: 1, output: 'second output of y' },
    'z.mjs': { passed: 4, failed: 0, output: 'second output of z' },
  })
  assert.deepEqual(runs, ['apps/a media x.js', 'apps/a media y.js', 'tools node z.mjs'])
  assert.deepEqual(flaky, [
    { suite: 'apps/a media', file: 'x.js' },
    { suite: 'tools node', file: 'z.mjs' },
  ])
  assert.deepEqual(suites.map(summary), [
    { suite: 'apps/a media', passed: 6, failed: 2 },
    { suite: 'tools node', passed: 8, failed: 0 },
    { suite: 'check lint', passed: 0, failed: 1 },
  ])
  for (const file of ['x', 'y', 'z']) assert.match(log, new RegExp(`second output of ${file}`))
})

test('a second run that counts no test does not pass', async () => {
  const { suites, flaky } = await rerun(SUITES.slice(1, 2), { 'z.mjs': { passed: 0, failed: 0, output: '' } })
  assert.deepEqual(flaky, [])
  assert.equal(suites[0].failed, 1)
})

test('no file runs again when more than ten files failed', async () => {
  const failures = Array.from({ length: 11 }, (_, index) => ({ file: `${index}.js`, passed: 0, failed: 1 }))
  const { suites, flaky, runs } = await rerun([{ suite: 'apps/a media', passed: 0, failed: 11, failures }], {})
  assert.deepEqual(runs, [])
  assert.deepEqual(flaky, [])
  assert.equal(suites[0].failed, 11)
})
