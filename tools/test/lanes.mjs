import { mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Hosts } from './hosts.mjs'
import { runTestFile } from './jest-run.mjs'
import { runPool } from './pool.mjs'

/** Files that run side by side slow each other down: time budgets grow by this, except beside quiet files. */
const CROWDED = 1.5
/** Unit tests of a package take about this long. */
const UNIT_MS = 10_000

let runCount = 0

/**
 * Runs test files side by side. Those that measure times have processes of their own; of the others each lane runs one
 * after another in the same process, and so do all unit tests of a package. `take` gets each file as it ends, with its
 * counts, output, time and tests. Resolves as `runPool`.
 */
export async function runFiles(files, { root, durations, options, show, take }) {
  const hosts = new Hosts()
  const isAlone = ({ quiet }) => quiet || files.length === 1 || options.length > 0
  const runIn = async (file, lane) => {
    const crowded = files.length > 1 && !file.quiet
    const env = { TEST_LANE: lane, TEST_SLOWNESS: String(slowness() * (crowded ? CROWDED : 1)) }
    const run = await runFile(file, { root, options, show, env, ...(!isAlone(file) && { hosts }) })
    take(run)
    return run
  }
  const unit = Map.groupBy(files.filter(isUnit), ({ suite }) => suite)
  const unitJobs = [...unit.values()].map((all) => ({
    expectedMs: UNIT_MS,
    run: async (lane) => {
      for (const file of all) await runIn(file, lane)
    },
  }))
  const others = files.filter((file) => !isUnit(file))
  const jobs = others.map((file) => ({
    expectedMs: durations.expected(file.suite, file.kind, file.file, file.source),
    quiet: file.quiet,
    light: file.light,
    heavy: file.kind === 'browser',
    run: async (lane) => {
      const { passed, failed, ms } = await runIn(file, lane)
      // Not of a file that was interrupted, or of some of its tests.
      if (passed > 0 && failed === 0 && options.length === 0) durations.note(file.suite, file.file, ms)
    },
  }))
  try {
    return await runPool([...unitJobs, ...jobs])
  } finally {
    durations.save()
    await hosts.close()
  }
}

const isUnit = ({ kind }) => kind === 'unit'
const slowness = () => Number(process.env.TEST_SLOWNESS ?? 1)

/** Runs one file of any kind, in a process of its own without `hosts`. */
export async function runFile(file, { root, options = [], show = false, env = {}, hosts }) {
  const name = basename(file.file).replace(/(\.test)?\.js$/, '')
  const results = resultsFile(root, file.folder, `${name}-${++runCount}`)
  const started = performance.now()
  const task = { file: join(root, file.folder, file.file), results, env, ...(isUnit(file) && { mostFiles: Infinity }) }
  const { failedFiles, ...run } = await (hosts ? hosts.run(task) : runTestFile({ ...task, options, show }))
  rmSync(results, { force: true })
  const { passed, failed } = run
  const failures = failed > 0 ? [{ file: file.file, passed, failed, failedTests: failedFiles[0]?.failedTests }] : []
  return { ...file, ...run, ms: performance.now() - started, failures }
}

function resultsFile(root, folder, name) {
  mkdirSync(join(root, folder, '.results'), { recursive: true })
  return join(root, folder, '.results', `${name}.json`)
}

/** Adds up the runs of the files of one suite: its output is that of failed files. */
export function sumRuns(suite, runs) {
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
  const isShown = ({ failed }) => failed > 0
  return {
    suite,
    passed: sum('passed'),
    failed: sum('failed'),
    ms: sum('ms'),
    output: runs
      .filter(isShown)
      .map((run) => run.output)
      .join('\n'),
    failures: runs.flatMap((run) => run.failures),
    skips: runs.filter(({ skipped }) => skipped > 0).map(({ file, skipped }) => ({ file, skipped })),
    tests: runs.flatMap((run) => run.tests),
    processorTimes: runs.map(({ file, processorMs }) => ({ file, ms: processorMs })),
  }
}
