import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readJestResult } from './results.mjs'

/** A process ends once its results are written; one that still runs after this time has handles that a test left open. */
const END_TIMEOUT_MS = 20_000
const POLL_MS = 250
/** Time for the process to print its open handles. */
const LAST_WORDS_MS = 1000
const KEPT_OUTPUT = 400_000

export const ROOT = resolve(import.meta.dirname, '../..')
const OPTIONS = [
  '--enable-source-maps',
  '--disable-warning=ExperimentalWarning',
  ...['--import', join(ROOT, 'tools/test/open-handles.mjs')],
]

const children = new Set()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    interrupted = true
    process.exitCode = 1
    for (const child of children) child.kill(signal)
  })

export const isInterrupted = () => interrupted
export const NOTHING = { passed: 0, failed: 0, skipped: 0, output: '', failedFiles: [], tests: [], processorMs: 0 }

/** Starts Node for tests; a signal to this process ends it too. */
export function startTests(args, { stdio, env }) {
  const child = spawn(process.execPath, [...OPTIONS, ...args], { stdio, env: { ...process.env, ...env } })
  children.add(child)
  child.once('close', () => children.delete(child))
  return child
}

/** The end of the output of a process: `{ add(text), text }`; `show` says to print it at once too. */
export class Output {
  text = ''
  #show

  constructor(show = false) {
    this.#show = show
  }

  add = (text) => {
    if (this.#show) process.stderr.write(text)
    this.text = (this.text + text).slice(-KEPT_OUTPUT)
  }
}

/** Ends a process that keeps running after the results are written; returns the function that stops watching. */
export function endWhenDone(child, { results, endTimeoutMs = END_TIMEOUT_MS, say }) {
  let writtenAt
  const watch = setInterval(() => {
    if (existsSync(results)) writtenAt ??= performance.now()
    if (writtenAt === undefined || performance.now() - writtenAt < endTimeoutMs) return
    clearInterval(watch)
    say(`\nthe tests are over, but something they left open kept them from ending for ${endTimeoutMs / 1000} s\n`)
    child.kill('SIGUSR2')
    setTimeout(() => child.kill('SIGKILL'), LAST_WORDS_MS).unref()
  }, POLL_MS)
  return () => clearInterval(watch)
}

/** The counts of a run whose process exited with `code`, 0 for one that goes on. */
export function outcomeOf({ code, output, results, processorMs }) {
  const counts = readJestResult(results) ?? { passed: 0, failed: 1, skipped: 0, files: [], tests: [] }
  // A process that exits with an error fails the run, also when its results do not.
  const failed = counts.failed === 0 && code !== 0 ? 1 : counts.failed
  const failedFiles = counts.files.filter((each) => each.failed > 0)
  const { passed, skipped, tests } = counts
  return { passed, failed, skipped, output, failedFiles, tests, processorMs }
}
