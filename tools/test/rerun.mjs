/** Maximum number of failed files to run again: more than this are not flaky tests. */
const MOST = 10

/**
 * Runs each failed file once more through `runAlone(suite, file)`, which resolves to `{ passed, failed, output }`.
 * A file that passes then counts as passed and is listed as flaky. The output of the second run goes to `log`, as that of
 * the first did when its suite ended. `failures` of a suite: `[{ file, failed, passed }]`, `passed` where it is known.
 * Resolves to `{ suites, flaky: [{ suite, file }] }`, the suites with the counts of the second run.
 */
export async function rerunFailures(suites, runAlone, log) {
  const failures = suites.flatMap(({ suite, failures: found = [] }) => found.map((failure) => ({ suite, ...failure })))
  if (failures.length > MOST) {
    log(`${failures.length} files failed: too many to be flaky, none is run again`)
    return { suites, flaky: [] }
  }
  const corrected = suites.map((each) => ({ ...each }))
  const flaky = []
  for (const { suite, file, passed, failed } of failures) {
    const second = await runAlone(suite, file)
    const hasPassed = second.failed === 0 && second.passed > 0
    log(`\n${second.output.trimEnd()}\n${suite} ${file} ${hasPassed ? 'passed' : 'failed again'} when run alone`)
    if (!hasPassed) continue
    flaky.push({ suite, file })
    const counts = corrected.find((each) => each.suite === suite)
    counts.failed -= failed
    counts.passed += passed === undefined ? failed : second.passed - passed
  }
  return { suites: corrected, flaky }
}
