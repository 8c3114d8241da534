// Runs one kind of tests of the workspace package in the current folder:
// node ../../tools/test/jest.mjs <kind> [parts of paths in the package] [-t pattern]
// The tests were compiled with the code and run as compiled, so what is tested is what ships.
// Under "npm test" (TEST_EVENTS names a file) the output is captured, and one line about the suite goes to that file: its
// counts, and each failed file with its own. Nx keeps the same in .results/<kind>.json.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { Durations, durationsFile } from './durations.mjs'
import { matches, notCompiled, splitWords, testFiles } from './files.mjs'
import { isKind, KINDS } from './kinds.mjs'
import { runFiles, sumRuns } from './lanes.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const [kind = 'unit', ...words] = process.argv.slice(2)
const quiet = process.env.TEST_EVENTS !== undefined

if (isKind(kind)) process.exitCode = await main(relative(ROOT, process.cwd()))
else {
  console.error(`unknown kind of tests "${kind}": one of ${KINDS.join(', ')}`)
  process.exitCode = 2
}

async function main(folder) {
  const { parts, options } = splitWords(words)
  const all = testFiles(ROOT, folder, kind)
  const files = all.filter(({ source }) => matches(relative(folder, relative(ROOT, source)), parts))
  if (files.length === 0 && all.length > 0) console.error(`no ${kind} tests of ${folder} match ${parts.join(' ')}`)
  if (files.length === 0) return all.length > 0 ? 2 : 0
  const problem = notCompiled(ROOT, files)
  if (problem) {
    console.error(problem)
    report({ suite: `${folder} ${kind}`, passed: 0, failed: 1, ms: 0, output: problem })
    return 2
  }
  const suite = await run(files, options)
  report(suite)
  if (!quiet && files.length > 1) console.error(`${suite.passed} passed, ${suite.failed} failed`)
  return suite.failed > 0 ? 1 : 0
}

async function run(files, options) {
  const durations = new Durations(durationsFile(ROOT))
  const show = !quiet && files.length === 1
  const runs = []
  const take = (ended) => {
    if (!quiet && !show) process.stderr.write(ended.output)
    runs.push(ended)
  }
  await runFiles(files, { root: ROOT, durations, options, show, take })
  return sumRuns(files[0].suite, runs)
}

function report(suite) {
  const text = `${JSON.stringify(suite)}\n`
  mkdirSync('.results', { recursive: true })
  writeFileSync(join('.results', `${kind}.json`), text)
  if (quiet) appendFileSync(process.env.TEST_EVENTS, text)
}
