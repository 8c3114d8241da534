// Runs one kind of tests of the workspace package in the current folder:
// node ../../tools/test/jest.mjs <kind> [parts of paths in dist] [jest options]
// The tests were compiled with the code; jest runs the compiled files, so what is tested is what ships.
// Under "npm test" (TEST_EVENTS names a file) jest's output is captured, and one line about the suite goes to that file:
// its counts, and each failed file with its own.
import { appendFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { runJest } from './jest-run.mjs'
import { findTests, isKind, KINDS } from './kinds.mjs'

/**
 * Files that run side by side, each in a process of its own, so that what one leaves open is its own failure.
 * They mostly wait for each other's timers; browsers however need the processors.
 */
const LANES = { integration: 2, media: 2, browser: 1 }

const ROOT = resolve(import.meta.dirname, '../..')
const [kind = 'unit', ...words] = process.argv.slice(2)
if (!isKind(kind)) {
  console.error(`unknown kind of tests "${kind}": one of ${KINDS.join(', ')}`)
  process.exit(2)
}
const firstOption = words.findIndex((word) => word.startsWith('-'))
const parts = firstOption < 0 ? words : words.slice(0, firstOption)
const options = firstOption < 0 ? [] : words.slice(firstOption)

const folder = process.cwd()
const quiet = process.env.TEST_EVENTS !== undefined
const results = join(folder, '.results')
const compiled = findTests(folder, kind)
  .map((file) => join(folder, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js')))
  .filter((file) => parts.length === 0 || parts.some((part) => relative(folder, file).includes(part)))
if (compiled.length === 0) process.exit(0)
const missing = compiled.filter((file) => !existsSync(file))
if (missing.length > 0) {
  const output = `not compiled, run "npx tsc -b" first: ${missing.map((file) => relative(ROOT, file)).join(', ')}`
  console.error(output)
  report({ passed: 0, failed: 1, ms: 0, output })
  process.exit(2)
}
await main()

async function main() {
  mkdirSync(results, { recursive: true })
  const started = performance.now()
  const runs = kind === 'unit' ? [await runUnitTests()] : await runInLanes(Math.min(LANES[kind], compiled.length))
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
  const isShown = ({ failed }) => failed > 0 || compiled.length === 1
  const output = runs.flatMap((run) => (isShown(run) ? [run.output] : [])).join('\n')
  const failures = runs.flatMap(failuresOf)
  report({ passed: sum('passed'), failed: sum('failed'), ms: performance.now() - started, output, failures })
  if (!quiet && runs.length > 1) console.error(`${sum('passed')} passed, ${sum('failed')} failed`)
  if (sum('failed') > 0) process.exitCode = 1
}

async function runUnitTests() {
  const file = join(results, 'unit.json')
  const run = await runJest({ folder, files: compiled, results: file, parallel: true, options, show: !quiet })
  return { ...run, files: compiled }
}

/** Failed files; empty when the process that ran several files crashed, because no single file is known to be the cause. */
function failuresOf({ files, passed, failed, failedFiles }) {
  if (failed === 0) return []
  const found = files.length === 1 ? [{ file: files[0], passed, failed }] : failedFiles
  return found.map((each) => ({ ...each, file: relative(folder, each.file) }))
}

async function runInLanes(count) {
  const waiting = compiled.entries()
  const runs = []
  const lanes = Array.from({ length: count }, async (_, lane) => {
    for (const [index, file] of waiting) {
      const run = await runJest({
        folder,
        files: [file],
        results: join(results, `${kind}-${index}.json`),
        env: { TEST_LANE: `${lane + 1}/${count}` },
        options,
        show: !quiet && count === 1,
      })
      rmSync(join(results, `${kind}-${index}.json`), { force: true })
      if (!quiet && count > 1) process.stderr.write(run.output)
      runs.push({ ...run, files: [file] })
    }
  })
  await Promise.all(lanes)
  return runs
}

function report(event) {
  if (!quiet) return
  appendFileSync(
    process.env.TEST_EVENTS,
    `${JSON.stringify({ suite: `${relative(ROOT, folder)} ${kind}`, ...event })}\n`,
  )
}
