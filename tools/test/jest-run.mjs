import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readJestResult } from './results.mjs'

/** jest ends once its results are written; a process that still runs after this time has handles that a test left open. */
const END_TIMEOUT_MS = 20_000
const POLL_MS = 250
/** Time for the process to print its open handles. */
const LAST_WORDS_MS = 1000
const KEPT_OUTPUT = 400_000

const ROOT = resolve(import.meta.dirname, '../..')
const children = new Set()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    interrupted = true
    process.exitCode = 1
    for (const child of children) child.kill(signal)
  })

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

const COMMON_OPTIONS = [
  '--enable-source-maps',
  '--disable-warning=ExperimentalWarning',
  ...['open-handles', 'processor-time'].flatMap((name) => ['--import', join(ROOT, `tools/test/${name}.mjs`)]),
]

async function runTests({ args, stdout, results, env, show, endTimeoutMs }) {
  if (interrupted) return { passed: 0, failed: 0, output: '', failedFiles: [], tests: [], processorMs: 0 }
  const times = `${results}.processor-ms`
  for (const file of [results, times]) rmSync(file, { force: true })
  const { code, output } = await spawnTests([...COMMON_OPTIONS, ...args], {
    ...{ stdout, results, show, endTimeoutMs },
    env: { ...env, PROCESSOR_TIME_FILE: times },
  })
  // Absent after a kill.
  const processorMs = existsSync(times) ? Number(readFileSync(times, 'utf8')) : 0
  rmSync(times, { force: true })
  const counts = readJestResult(results) ?? { passed: 0, failed: 1, files: [], tests: [] }
  // A process that exits with an error fails the run, also when its results do not.
  const failed = counts.failed === 0 && code !== 0 ? 1 : counts.failed
  const failedFiles = counts.files.filter((each) => each.failed > 0)
  return { passed: counts.passed, failed, output, failedFiles, tests: counts.tests, processorMs }
}

function spawnTests(args, { stdout, results, show, env, endTimeoutMs = END_TIMEOUT_MS }) {
  const child = spawn(process.execPath, args, {
    stdio: ['inherit', stdout, 'pipe'],
    env: { ...process.env, ...env, ...(isColored({ show }) && { FORCE_COLOR: '1' }) },
  })
  children.add(child)
  let output = ''
  const add = (text) => {
    if (show) process.stderr.write(text)
    output = (output + text).slice(-KEPT_OUTPUT)
  }
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', add)
  const watch = endWhenDone(child, { results, endTimeoutMs, say: add })
  return new Promise((done) => {
    child.once('close', (code) => {
      clearInterval(watch)
      children.delete(child)
      done({ code: code ?? 1, output })
    })
  })
}

function endWhenDone(child, { results, endTimeoutMs, say }) {
  const watch = setInterval(() => {
    const written = existsSync(results) ? statSync(results).mtimeMs : Infinity
    // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
    if (Date.now() - written < endTimeoutMs) return
    clearInterval(watch)
    say(`\nthe tests are over, but something they left open kept them from ending for ${endTimeoutMs / 1000} s\n`)
    child.kill('SIGUSR2')
    setTimeout(() => child.kill('SIGKILL'), LAST_WORDS_MS).unref()
  }, POLL_MS)
  return watch
}
