import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * Counts of a file of results: `{ passed, failed, skipped, ms, files: [{ file, passed, failed, failedTests: [name] }], tests:
 * [{ test, ms }] }`, undefined when there is none. A test file that did not run counts as one failed test.
 */
export function readJestResult(file) {
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const result = JSON.parse(text)
  const ended = Math.max(0, ...result.testResults.map(({ endTime }) => endTime ?? 0))
  return {
    passed: result.numPassedTests,
    failed: result.numFailedTests + result.numRuntimeErrorTestSuites,
    skipped: result.testResults.flatMap(({ assertionResults = [] }) => assertionResults.filter(isSkipped)).length,
    ms: Math.max(0, ended - result.startTime),
    files: result.testResults.map(({ name, status, assertionResults = [] }) => {
      const withStatus = (wanted) => assertionResults.filter((each) => each.status === wanted)
      const failedTests = withStatus('failed').map(({ fullName }) => fullName)
      const failed = failedTests.length === 0 && status === 'failed' ? 1 : failedTests.length
      return { file: name, passed: withStatus('passed').length, failed, failedTests }
    }),
    tests: result.testResults.flatMap(({ name, assertionResults = [] }) =>
      assertionResults.map(({ fullName, duration }) => ({ test: `${basename(name)} ${fullName}`, ms: duration ?? 0 })),
    ),
  }
}

const isSkipped = ({ status }) => status === 'pending' || status === 'todo'

/** Counts of what `node --test --test-reporter=tap` printed; a run that printed no counts has failed. */
export function readTapCounts(output) {
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? Number.NaN)
  const [passed, failed, cancelled] = [count('pass'), count('fail'), count('cancelled')]
  if (Number.isNaN(passed) || Number.isNaN(failed)) return { passed: 0, failed: 1 }
  return { passed, failed: failed + cancelled }
}

/** The files of the failed tests that `node --test --test-reporter=tap` printed: `[{ file, failed }]`. */
export function readTapFailures(output) {
  const files = [...output.matchAll(/^not ok [^]*?^ *location: '(.+?):\d+:\d+'$/gm)].map((match) => match[1])
  return Object.entries(Object.groupBy(files, (file) => file)).map(([file, all]) => ({ file, failed: all.length }))
}

/** The last line of `npm test`. */
export const sumLine = (suites) => {
  const total = (name) => suites.reduce((sum, suite) => sum + suite[name], 0)
  return `${total('passed')} passed, ${total('failed')} failed`
}

/** The tests that took longest; hooks do not count. */
export function slowestLines(suites, count = 10) {
  const tests = suites.flatMap(({ suite, tests: all = [] }) => all.map((each) => ({ suite, ...each })))
  const slowest = tests.toSorted((a, b) => b.ms - a.ms).slice(0, count)
  return slowest.map(({ suite, test, ms }) => `  ${`${(ms / 1000).toFixed(1)} s`.padStart(8)}  ${suite} ${test}`)
}

/** The files whose processes, with the programs that they started, used the processors longest; and the sum of all. */
export function busiestLines(suites, count = 15) {
  const files = suites.flatMap(({ suite, processorTimes = [] }) => processorTimes.map((each) => ({ suite, ...each })))
  const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`.padStart(8)
  return [
    `  ${seconds(files.reduce((sum, { ms }) => sum + ms, 0))}  all files`,
    ...files
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, count)
      .map(({ suite, file, ms }) => `  ${seconds(ms)}  ${suite} ${file}`),
  ]
}

/**
 * The failed suites, files and tests before the last line, where a log of which only the end is kept still shows them;
 * `flaky` as of `rerunFailures`.
 */
export function failedLines(suites, flaky) {
  const isFlaky = (suite, file) => flaky.some((each) => each.suite === suite && each.file === file)
  return suites
    .filter(({ failed }) => failed > 0)
    .flatMap(({ suite, failures = [] }) => {
      const files = failures.filter(({ file }) => !isFlaky(suite, file))
      if (files.length === 0) return [`failed: ${suite}`]
      return files.flatMap(({ file, failedTests = [] }) => [
        `failed: ${suite} ${file}`,
        ...failedTests.map((name) => `  ✕ ${name}`),
      ])
    })
}

/** The files with skipped tests before the last line. `skips` of a suite: `[{ file, skipped }]`. */
export const skippedLines = (suites) =>
  suites.flatMap(({ suite, skips = [] }) => skips.map(({ file, skipped }) => `skipped: ${skipped} in ${suite} ${file}`))

/** The list of flaky files before the last line. */
export function flakyLines(flaky) {
  if (flaky.length === 0) return ['flaky: none']
  return [
    `flaky: ${flaky.length} (failed, then passed when run once more alone)`,
    ...flaky.map(({ suite, file }) => `  flaky ${suite} ${file}`),
  ]
}

/** `✓ libs/contract unit  12 passed  1.2 s` */
export function suiteLine({ suite, passed, failed, skips = [], ms, cached }) {
  const skipped = skips.reduce((sum, each) => sum + each.skipped, 0)
  const counts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} FAILED`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ')
  return `${failed > 0 ? '✗' : '✓'} ${suite.padEnd(34)} ${counts.padEnd(24)} ${cached ? 'cached' : `${(ms / 1000).toFixed(1)} s`}`
}
