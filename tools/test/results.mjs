import { readFileSync } from 'node:fs'

/**
 * Counts of a file that jest wrote: `{ passed, failed, ms }`, undefined when there is none.
 * A test file that did not even run counts as one failed test.
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
    ms: Math.max(0, ended - result.startTime),
  }
}

/** Counts of what `node --test --test-reporter=tap` printed; a run that printed no counts has failed. */
export function readTapCounts(output) {
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? Number.NaN)
  const [passed, failed, cancelled] = [count('pass'), count('fail'), count('cancelled')]
  if (Number.isNaN(passed) || Number.isNaN(failed)) return { passed: 0, failed: 1 }
  return { passed, failed: failed + cancelled }
}

/** The last line of `npm test`. */
export const sumLine = (suites) => {
  const total = (name) => suites.reduce((sum, suite) => sum + suite[name], 0)
  return `${total('passed')} passed, ${total('failed')} failed`
}

/** `✓ libs/contract unit  12 passed  1.2 s` */
export function suiteLine({ suite, passed, failed, ms, cached }) {
  const counts = failed > 0 ? `${passed} passed, ${failed} FAILED` : `${passed} passed`
  return `${failed > 0 ? '✗' : '✓'} ${suite.padEnd(34)} ${counts.padEnd(24)} ${cached ? 'cached' : `${(ms / 1000).toFixed(1)} s`}`
}
