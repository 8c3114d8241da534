// Runs compiled test files with the framework of jest (jest-circus) in the context of this process, as ordinary modules. The
// command of jest would link all modules in a context of their own, without the compile cache, which takes half a second
// of processor time and more per file.
import { writeFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { failedToLoad, resultOf, summaryLines } from './file-results.mjs'
import { jestObject, restoreReal } from './jest-object.mjs'
import { kindOf } from './kinds.mjs'
import { scaleState } from './scale-timeouts.mjs'
import { setTestGlobals } from './test-globals.mjs'

const DEFAULT_TIMEOUT_MS = 60_000
const UNIT_TIMEOUT_MS = 5_000
const GLOBALS = new URL('test-globals.mjs', import.meta.url).href
const TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL')
/** The globals in which jest-circus keeps what belongs to one file. */
const STATE = [TIMEOUT, Symbol.for('EVENT_HANDLERS'), Symbol.for('RETRY_TIMES')]
const require = createRequire(import.meta.url)
const { default: runCircus } = require('jest-circus/runner')

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
})

// jest-circus looks for the time-out in a global.
const jest = { ...jestObject, setTimeout: (ms) => void (globalThis[TIMEOUT] = ms) }

/** The part of jest's module loader that jest-circus expects. */
const runtime = {
  requireInternalModule: requireAgain,
  requireModule: require,
  setGlobalsForRuntime: (globals) => setTestGlobals({ ...globals, jest }),
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (file) => import(pathToFileURL(file)),
  enterTestCode: () => {},
  leaveTestCode: () => {},
}

const environment = {
  global: globalThis,
  handleTestEvent: (event, state) => {
    if (event.name === 'run_start') scaleState(state)
  },
}

const projectConfig = {
  rootDir: process.cwd(),
  setupFilesAfterEnv: [],
  snapshotSerializers: [],
  fakeTimers: {},
  testMatch: [],
}

/** The module of jest-circus that has the state of a run. */
function requireAgain(name) {
  delete require.cache[require.resolve(name)]
  return require(name)
}

/**
 * Runs one file: prints what a person reads, writes its results to `resultsFile`, and resolves to whether it has passed.
 * `startTime` is when its time began, ms since the epoch.
 */
export async function runHere(testFile, resultsFile, { testNamePattern, startTime }) {
  for (const name of STATE) delete globalThis[name]
  const isUnit = kindOf(testFile.replace(/\.js$/, '.ts')) === 'unit'
  const testTimeout = isUnit ? UNIT_TIMEOUT_MS : DEFAULT_TIMEOUT_MS
  const globalConfig = { testTimeout, updateSnapshot: 'none', testNamePattern }
  const outcome = await runCircus(globalConfig, projectConfig, environment, runtime, testFile).catch(failedToLoad)
  restoreReal()
  const endTime = performance.timeOrigin + performance.now()
  const result = resultOf(testFile, outcome, { startTime, endTime })
  console.error(summaryLines(relative(process.cwd(), testFile), outcome).join('\n'))
  writeFileSync(resultsFile, JSON.stringify(result))
  return result.numFailedTests + result.numRuntimeErrorTestSuites === 0
}
