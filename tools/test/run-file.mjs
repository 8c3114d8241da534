// node tools/test/run-file.mjs <test file> <file of results> [-t <pattern>]: runs one compiled test file with the framework
// of jest (jest-circus) in the context of this process, as an ordinary module. The command of jest would link all modules in
// a context of their own, without the compile cache, which takes half a second of processor time and more per file.
import { writeFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import * as mock from 'jest-mock'
import { failedToLoad, resultOf, summaryLines } from './file-results.mjs'
import { scaleState } from './scale-timeouts.mjs'

const DEFAULT_TIMEOUT_MS = 60_000
const GLOBALS = new URL('test-globals.mjs', import.meta.url).href
const require = createRequire(import.meta.url)
const { default: runCircus } = require('jest-circus/runner')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // Libraries read the option --no-color themselves.
  options: { testNamePattern: { type: 'string', short: 't' }, 'no-color': { type: 'boolean' } },
})
const [testFile, resultsFile] = positionals

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
})

const jest = {
  ...mock,
  // Where jest-circus looks for it.
  setTimeout: (ms) => void (globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = ms),
}

/** What jest-circus expects of jest's module loader. */
const runtime = {
  requireInternalModule: require,
  requireModule: require,
  setGlobalsForRuntime: (globals) => (globalThis[Symbol.for('session-service.test-globals')] = { ...globals, jest }),
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

const globalConfig = {
  testTimeout: DEFAULT_TIMEOUT_MS,
  updateSnapshot: 'none',
  ...(values.testNamePattern !== undefined && { testNamePattern: values.testNamePattern }),
}

const startTime = performance.timeOrigin
const outcome = await runCircus(globalConfig, projectConfig, environment, runtime, testFile).catch(failedToLoad)
const result = resultOf(testFile, outcome, { startTime, endTime: performance.timeOrigin + performance.now() })
console.error(summaryLines(relative(process.cwd(), testFile), outcome).join('\n'))
writeFileSync(resultsFile, JSON.stringify(result))
if (result.numFailedTests + result.numRuntimeErrorTestSuites > 0) process.exitCode = 1
