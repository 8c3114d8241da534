import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { endWhenDone, isInterrupted, NOTHING, outcomeOf, Output, ROOT, startTests } from './test-process.mjs'

const PROCESSOR_TIME = ['--import', join(ROOT, 'tools/test/processor-time.mjs')]

/**
 * Runs one compiled test file in a process of its own; resolves to `{ passed, failed, output, failedFiles: [{ file, passed,
 * failed, failedTests }], tests: [{ test, ms }], processorMs }`. `results` names the file that the process writes, `show`
 * says to show its output at once. The only option is `-t`.
 */
export async function runTestFile({ file, results, options, env, show, endTimeoutMs }) {
  if (isInterrupted()) return NOTHING
  const times = `${results}.processor-ms`
  for (const each of [results, times]) rmSync(each, { force: true })
  const isColored = show && process.stderr.isTTY
  const args = [
    ...[join(ROOT, 'tools/test/run-file.mjs'), file, results],
    // Libraries take the variable CI for a terminal with colors.
    ...(isColored ? [] : ['--no-color']),
    ...options,
  ]
  const child = startTests([...PROCESSOR_TIME, ...args], {
    stdio: ['inherit', 'pipe', 'pipe'],
    env: { ...env, PROCESSOR_TIME_FILE: times, ...(isColored && { FORCE_COLOR: '1' }) },
  })
  const output = new Output(show)
  for (const stream of [child.stdout, child.stderr]) stream.on('data', output.add)
  const stopWatch = endWhenDone(child, { results, endTimeoutMs, say: output.add })
  const code = await new Promise((done) => child.once('close', done))
  stopWatch()
  // Absent after a kill.
  const processorMs = existsSync(times) ? Number(readFileSync(times, 'utf8')) : 0
  rmSync(times, { force: true })
  return outcomeOf({ code, output: output.text, results, processorMs })
}
