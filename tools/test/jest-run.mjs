import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { endWhenDone, isInterrupted, NOTHING, outcomeOf, Output, ROOT, startTests } from './test-process.mjs'

/**
 * Runs compiled test files in one process of jest, which has workers; resolves to `{ passed, failed, output,
 * failedFiles: [{ file, passed, failed, failedTests }], tests: [{ test, ms }], processorMs }`. `results` names the file that jest writes,
 * `show` says to show its output at once.
 */
export const runJest = ({ folder, files, options, ...run }) =>
  runTests({
    ...run,
    // The sum of the results on stdout is also in the file.
    stdout: 'ignore',
    args: [
      '--experimental-vm-modules',
      join(ROOT, 'node_modules/jest/bin/jest.js'),
      ...['--config', JSON.stringify(configuration(folder, files))],
      ...['--json', '--outputFile', run.results, ...options],
    ],
  })

/** Runs one compiled test file in a process of its own; otherwise as `runJest`. The only option is `-t`. */
export const runTestFile = ({ file, options, ...run }) =>
  runTests({
    ...run,
    stdout: 'pipe',
    args: [
      ...[join(ROOT, 'tools/test/run-file.mjs'), file, run.results],
      // Libraries take the variable CI for a terminal with colors.
      ...(isColored(run) ? [] : ['--no-color']),
      ...options,
    ],
  })

const isColored = ({ show }) => show && process.stderr.isTTY

const configuration = (folder, files) => ({
  rootDir: folder,
  roots: ['<rootDir>/dist'],
  testMatch: files,
  testEnvironment: join(ROOT, 'tools/test/environment.mjs'),
  transform: {},
})

const PROCESSOR_TIME = ['--import', join(ROOT, 'tools/test/processor-time.mjs')]

async function runTests({ args, stdout, results, env, show, endTimeoutMs }) {
  if (isInterrupted()) return NOTHING
  const times = `${results}.processor-ms`
  for (const file of [results, times]) rmSync(file, { force: true })
  const child = startTests([...PROCESSOR_TIME, ...args], {
    stdio: ['inherit', stdout, 'pipe'],
    env: { ...env, PROCESSOR_TIME_FILE: times, ...(isColored({ show }) && { FORCE_COLOR: '1' }) },
  })
  const output = new Output(show)
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', output.add)
  const stopWatch = endWhenDone(child, { results, endTimeoutMs, say: output.add })
  const code = await new Promise((done) => child.once('close', done))
  stopWatch()
  // Absent after a kill.
  const processorMs = existsSync(times) ? Number(readFileSync(times, 'utf8')) : 0
  rmSync(times, { force: true })
  return outcomeOf({ code, output: output.text, results, processorMs })
}
