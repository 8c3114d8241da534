// npm test: all checks, then all tests through Nx, then each failed file once more, alone. The last lines are the list
// of flaky files and the sum alone: "<n> passed, <m> failed".
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { runChecks } from './check.mjs'
import { findTests, KINDS } from './kinds.mjs'
import { measureMachine, slownessOf } from './machine-speed.mjs'
import { rerunFailures } from './rerun.mjs'
import { flakyLines, readJestResult, readTapCounts, readTapFailures, suiteLine, sumLine } from './results.mjs'
import { runNode } from './run-node.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const EVENTS = join(ROOT, '.results/events.jsonl')
const POLL_MS = 200
/** Suites of these kinds start servers, workers and browsers: one at a time. */
const PARALLEL = { unit: 2, integration: 1, media: 1, browser: 1 }
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

/** The workspace packages: `{ name, folder }`. */
function packages() {
  const { workspaces } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return globSync(
    workspaces.map((pattern) => `${pattern}/package.json`),
    { cwd: ROOT },
  )
    .toSorted()
    .map((file) => ({ name: JSON.parse(readFileSync(join(ROOT, file), 'utf8')).name, folder: dirname(file) }))
}

/** Runs the tests of the tools, which need only Node: one suite per folder. */
async function runToolTests() {
  const files = globSync('tools/**/*.test.mjs', { cwd: ROOT, exclude: ['**/node_modules/**'] }).toSorted()
  for (const [folder, tests] of Object.entries(Object.groupBy(files, dirname))) {
    const { passed, failed, ms, output } = await runToolFiles(tests)
    const failures = readTapFailures(output).map((each) => ({ ...each, file: relative(ROOT, each.file) }))
    show({ suite: `${folder} node`, passed, failed, ms, output, failures })
  }
}

async function runToolFiles(files) {
  const { code, output, ms } = await runNode(['--test', '--test-reporter=tap', ...files], { cwd: ROOT })
  const { passed, failed } = readTapCounts(output)
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed, ms, output }
}

/** Runs one failed file of a suite again, with no other test in parallel. */
async function runAlone(suite, file, env) {
  const [, folder, kind] = /^(.+) (\S+)$/.exec(suite)
  if (kind === 'node') return runToolFiles([file])
  const events = `${EVENTS}.again`
  rmSync(events, { force: true })
  const { output } = await runNode([join(ROOT, 'tools/test/jest.mjs'), kind, file], {
    cwd: join(ROOT, folder),
    env: { ...env, TEST_EVENTS: events },
  })
  if (!existsSync(events)) return { passed: 0, failed: 1, output }
  return JSON.parse(readFileSync(events, 'utf8'))
}

/** Runs one kind of tests of all packages that have such tests; Nx takes unit tests of unchanged packages from its cache. */
async function runKind(kind, env) {
  const chosen = packages().filter(({ folder }) => findTests(join(ROOT, folder), kind).length > 0)
  if (chosen.length === 0) return
  const shown = new Set()
  const stopFollowing = follow((event) => {
    shown.add(event.suite)
    show(event)
  })
  const { output } = await runNode(
    [
      join(ROOT, 'node_modules/nx/dist/bin/nx.js'),
      ...['run-many', '-t', kind, '-p', chosen.map(({ name }) => name).join(',')],
      ...[`--parallel=${PARALLEL[kind]}`, '--output-style=static', '--nx-bail=false'],
    ],
    { cwd: ROOT, env: { ...env, ...NX_ENV } },
  ).finally(stopFollowing)
  let silent = 0
  for (const { folder } of chosen) {
    const suite = `${folder} ${kind}`
    if (shown.has(suite)) continue
    // Results were removed when this run began: Nx restored these from its cache.
    const result = readJestResult(join(ROOT, folder, '.results', `${kind}.json`))
    if (result) show({ suite, ...result, cached: true })
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

function clearResults() {
  for (const file of globSync('{libs,apps,tools,bench}/**/.results/*.json', {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  }))
    rmSync(join(ROOT, file))
  mkdirSync(dirname(EVENTS), { recursive: true })
}

async function rerunFailedFiles(env) {
  const result = await rerunFailures(suites, (suite, file) => runAlone(suite, file, env), console.log)
  suites = result.suites
  flaky = result.flaky
}

async function main() {
  clearResults()
  process.env.TEST_SLOWNESS ??= String(slownessOf(await measureMachine()))
  console.log(`time budgets of tests × ${process.env.TEST_SLOWNESS} (the speed of this machine)`)
  await runChecks([], show)
  await runToolTests()
  await runKind('unit', process.env)
  const postgres = await startSharedPostgres()
  const env = { ...process.env, TEST_POSTGRES_URL: postgres.url }
  try {
    for (const kind of KINDS.filter((each) => each !== 'unit')) await runKind(kind, env)
    await rerunFailedFiles(env)
  } finally {
    await postgres.stop()
  }
}

try {
  await main()
} catch (error) {
  show({ suite: 'test run', passed: 0, failed: 1, ms: 0, output: String(error.stack) })
}
for (const line of flakyLines(flaky)) console.log(line)
if (suites.some(({ failed }) => failed > 0)) process.exitCode ||= 1
console.log(sumLine(suites))
