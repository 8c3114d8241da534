// npm test: all checks, then all tests, then each failed file once more, alone. npm test -- <parts of paths> [-t
// pattern]: the test files of all kinds and packages whose path has one of the parts, without the checks. The last lines
// are the slowest tests, the list of flaky files and the sum alone: "<n> passed, <m> failed".
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { findPrograms, missingLine, testEnvironment } from '../kubernetes/programs.mjs'
import { runChecks } from './check.mjs'
import { checksOf } from './checks.mjs'
import { Durations, durationsFile } from './durations.mjs'
import { findToolTests, matches, notCompiled, packagesOf, splitWords, testFiles } from './files.mjs'
import { KINDS } from './kinds.mjs'
import { runFile, runFiles, sumRuns } from './lanes.mjs'
import { measureMachine, slownessOf } from './machine-speed.mjs'
import { runPool, useLine } from './pool.mjs'
import { rerunFailures } from './rerun.mjs'
import {
  busiestLines,
  failedLines,
  flakyLines,
  readTapCounts,
  readTapFailures,
  skippedLines,
  slowestLines,
  suiteLine,
  sumLine,
} from './results.mjs'
import { runNode } from './run-node.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const EVENTS = join(ROOT, '.results/events.jsonl')
const POLL_MS = 200
const NX_ENV = {
  TEST_EVENTS: EVENTS,
  NX_DAEMON: 'false',
  NX_TUI: 'false',
  // This process prints the output of suites, so color depends on its own terminal.
  FORCE_COLOR: process.stdout.isTTY ? '1' : '0',
}

let suites = []
let flaky = []

function show(suite) {
  suites.push(suite)
  if (suite.failed > 0 && suite.output) console.log(`\n${suite.output.trimEnd()}`)
  console.log(suiteLine(suite))
}

/** All test files that the parts choose: `{ tools, unit, others }`. */
function chooseFiles(parts) {
  const chosen = (kind) =>
    packagesOf(ROOT).flatMap(({ folder }) =>
      testFiles(ROOT, folder, kind).filter(({ source }) => matches(relative(ROOT, source), parts)),
    )
  return {
    tools: findToolTests(ROOT).filter((file) => matches(file, parts)),
    unit: chosen('unit'),
    others: withPrograms(KINDS.filter((kind) => kind !== 'unit').flatMap(chosen)),
  }
}

/** Without the tests of the kind "kubernetes" where the programs of a control plane are missing, which a line says. */
function withPrograms(files) {
  if (!files.some(({ kind }) => kind === 'kubernetes')) return files
  const programs = findPrograms(process.env)
  const line = missingLine(programs)
  Object.assign(process.env, testEnvironment(process.env, programs))
  if (line === undefined) return files
  console.log(line)
  return files.filter(({ kind }) => kind !== 'kubernetes')
}

/** Jobs for the tests of the tools, which need only Node: one suite per folder. */
const toolJobs = (files) =>
  Object.entries(Object.groupBy(files, dirname)).map(([folder, tests]) => ({
    expectedMs: 15_000,
    run: async () => {
      const { passed, failed, ms, output } = await runToolFiles(tests)
      const failures = readTapFailures(output).map((each) => ({ ...each, file: relative(ROOT, each.file) }))
      show({ suite: `${folder} node`, passed, failed, ms, output, failures })
    },
  }))

async function runToolFiles(files) {
  const { code, output, ms } = await runNode(['--test', '--test-reporter=tap', ...files], { cwd: ROOT })
  const { passed, failed } = readTapCounts(output)
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed, ms, output }
}

const checkJobs = () =>
  checksOf(ROOT)
    .filter(({ name }) => name !== 'types')
    .map(({ name }) => ({ expectedMs: 10_000, run: () => runChecks([name], show) }))

/** Runs one failed file of a suite again, with no other test in parallel. */
function runAlone(suite, file) {
  const [, folder, kind] = /^(.+) (\S+)$/.exec(suite)
  return kind === 'node' ? runToolFiles([file]) : runFile({ suite, folder, kind, file }, { root: ROOT })
}

/** Runs the unit tests of all packages; Nx takes those of unchanged packages from its cache. */
async function runUnitTestsByNx() {
  const chosen = packagesOf(ROOT).filter(({ folder }) => testFiles(ROOT, folder, 'unit').length > 0)
  const shown = new Set()
  const stopFollowing = follow((event) => {
    shown.add(event.suite)
    show(event)
  })
  const { output } = await runNode(
    [
      join(ROOT, 'node_modules/nx/dist/bin/nx.js'),
      ...['run-many', '-t', 'unit', '-p', chosen.map(({ name }) => name).join(',')],
      ...['--parallel=2', '--output-style=static', '--nx-bail=false'],
    ],
    { cwd: ROOT, env: { ...process.env, ...NX_ENV } },
  ).finally(stopFollowing)
  let silent = 0
  for (const { folder } of chosen) {
    const suite = `${folder} unit`
    if (shown.has(suite)) continue
    // Results were removed when this run began: Nx restored these from its cache.
    const results = join(ROOT, folder, '.results/unit.json')
    if (existsSync(results)) show({ ...JSON.parse(readFileSync(results, 'utf8')), processorTimes: [], cached: true })
    else show({ suite, passed: 0, failed: 1, ms: 0, output: silent++ === 0 ? output : '' })
  }
}

/** Calls `take` with every event that is appended to the file; returns a function that reads the rest and stops. */
function follow(take) {
  rmSync(EVENTS, { force: true })
  let seen = 0
  const read = () => {
    const lines = existsSync(EVENTS) ? readFileSync(EVENTS, 'utf8').split('\n').slice(0, -1) : []
    for (const line of lines.slice(seen)) take(JSON.parse(line))
    seen = lines.length
  }
  const timer = setInterval(read, POLL_MS)
  return () => {
    clearInterval(timer)
    read()
  }
}

/** Starts one Postgres for all suites; each test creates its own database in it. */
async function startSharedPostgres() {
  const { startPostgres, removePostgresData } = await import(join(ROOT, 'libs/local-stack/dist/index.js'))
  const folder = mkdtempSync(join(tmpdir(), 'tests-'))
  chmodSync(folder, 0o755)
  const dataDir = join(folder, basename(folder))
  const server = await startPostgres({ dataDir })
  return {
    url: server.url,
    stop: async () => {
      await server.stop()
      await removePostgresData(dataDir)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Creates a database with the schema of the masters on the shared server, of which those of stacks are copies; resolves to
 * its URL.
 */
async function createTemplate() {
  const { programPath, systemEnv } = await import(join(ROOT, 'libs/local-stack/dist/index.js'))
  const { createTestDatabase } = await import(join(ROOT, 'libs/testing/dist/stack/test-database.js'))
  const { url } = await createTestDatabase()
  const env = { ...systemEnv(), DATABASE_URL: url }
  const { code, output } = await runNode([programPath('master'), 'migrate'], { cwd: ROOT, env })
  if (code !== 0) throw new Error(`the migration of the databases of tests failed:\n${output}`)
  return url
}

function clearResults() {
  for (const file of globSync('{libs,apps,tools,bench}/**/.results/*.json', {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  }))
    rmSync(join(ROOT, file))
  mkdirSync(dirname(EVENTS), { recursive: true })
}

/**
 * Runs files of all packages in one pool; a suite is shown once its last file has ended. `verbose` shows the output of
 * each file, also of those that passed.
 */
async function showFiles(files, { options = [], verbose = false } = {}) {
  const durations = new Durations(durationsFile(ROOT))
  const left = Map.groupBy(files, ({ suite }) => suite)
  const ended = new Map([...left.keys()].map((suite) => [suite, []]))
  const take = (run) => {
    const runs = ended.get(run.suite)
    runs.push(verbose ? printed(run) : run)
    if (runs.length === left.get(run.suite).length) show(sumRuns(run.suite, runs))
  }
  const use = await runFiles(files, { root: ROOT, durations, options, take })
  if (!verbose) console.log(useLine(use))
}

function printed(run) {
  console.log(run.output.trimEnd())
  return { ...run, output: '' }
}

async function rerunFailedFiles() {
  const result = await rerunFailures(suites, runAlone, console.log)
  suites = result.suites
  flaky = result.flaky
}

async function runAll(files) {
  await runChecks(['types'], show)
  const unit = { expectedMs: 60_000, run: runUnitTestsByNx }
  await runPool([unit, ...checkJobs(), ...toolJobs(files.tools)])
  await withPostgres(async () => {
    await showFiles(files.others)
    await rerunFailedFiles()
  })
}

async function runChosen({ tools, unit, others }, options) {
  const problem = notCompiled(ROOT, [...unit, ...others])
  if (problem) throw new Error(problem)
  const run = (files) => showFiles(files, { options, verbose: true })
  await runPool(toolJobs(tools))
  if (unit.length > 0) await run(unit)
  if (others.length > 0) await withPostgres(() => run(others))
}

async function withPostgres(run) {
  const postgres = await startSharedPostgres()
  process.env.TEST_POSTGRES_URL = postgres.url
  try {
    process.env.TEST_POSTGRES_TEMPLATE = await createTemplate()
    await run()
  } finally {
    await postgres.stop()
  }
}

async function main({ parts, options }) {
  clearResults()
  const files = chooseFiles(parts)
  if ([files.tools, files.unit, files.others].every(({ length }) => length === 0)) {
    console.error(`no test file matches ${parts.join(' ')}: give parts of paths, such as resume or libs/client`)
    process.exitCode = 2
    return
  }
  process.env.TEST_SLOWNESS ??= String(slownessOf(await measureMachine()))
  console.log(`time budgets of tests × ${process.env.TEST_SLOWNESS} (the speed of this machine)`)
  if (parts.length === 0 && options.length === 0) await runAll(files)
  else await runChosen(files, options)
}

const startedAt = performance.now()
try {
  await main(splitWords(process.argv.slice(2)))
} catch (error) {
  show({ suite: 'test run', passed: 0, failed: 1, ms: 0, output: String(error.stack) })
}
const slowest = slowestLines(suites)
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
if (slowest.length > 0) console.log([`\nslowest tests of ${minutes} min:`, ...slowest].join('\n'))
if (slowest.length > 0) console.log(['\nmost processor time:', ...busiestLines(suites)].join('\n'))
// Those of a run with -t were not chosen.
const { options } = splitWords(process.argv.slice(2))
for (const line of [
  ...(options.length > 0 ? [] : skippedLines(suites)),
  ...flakyLines(flaky),
  ...failedLines(suites, flaky),
])
  console.log(line)
if (suites.some(({ failed }) => failed > 0)) process.exitCode ||= 1
console.log(sumLine(suites))
