import { inspect } from 'node:util'

const MARKS = { passed: '✓', failed: '✕', pending: '○', todo: '✎' }

/** The outcome of a test file whose module could not be evaluated, in the shape of jest-circus. */
export const failedToLoad = (error) => ({
  testResults: [],
  testExecError: error,
  failureMessage: `  ● Test file failed to run\n\n${inspect(error)}`,
})

const isFailed = ({ testResults, testExecError }) =>
  testExecError !== undefined || testResults.length === 0 || testResults.some(({ status }) => status === 'failed')

/** The outcome of one file as the file of results of jest, for `readJestResult`. A file without tests fails. */
export function resultOf(name, outcome, { startTime, endTime }) {
  const { testResults, testExecError } = outcome
  const count = (wanted) => testResults.filter(({ status }) => status === wanted).length
  return {
    startTime,
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numRuntimeErrorTestSuites: testExecError !== undefined || testResults.length === 0 ? 1 : 0,
    testResults: [
      {
        name,
        status: isFailed(outcome) ? 'failed' : 'passed',
        endTime,
        assertionResults: testResults.map(({ status, fullName, duration }) => ({ status, fullName, duration })),
      },
    ],
  }
}

/** The lines for a person: each test with its time, then the failures. */
export function summaryLines(name, outcome) {
  const { testResults, failureMessage } = outcome
  const failures = testResults.length === 0 && !failureMessage ? '  ● The test file has no tests' : failureMessage
  return [
    `${isFailed(outcome) ? 'FAIL' : 'PASS'} ${name}`,
    ...testResults.map((test) => `  ${MARKS[test.status] ?? test.status} ${test.fullName}${time(test)}`),
    ...(failures ? ['', failures] : []),
  ]
}

const time = ({ duration }) => (duration ? ` (${Math.round(duration)} ms)` : '')
