// node tools/test/run-file.mjs <test file> <file of results> [-t <pattern>]: runs one compiled test file.
import { parseArgs } from 'node:util'
import { runHere } from './circus.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // Libraries read the option --no-color themselves.
  options: { testNamePattern: { type: 'string', short: 't' }, 'no-color': { type: 'boolean' } },
})
const [testFile, resultsFile] = positionals
const { testNamePattern } = values
const hasPassed = await runHere(testFile, resultsFile, { testNamePattern, startTime: performance.timeOrigin })
if (!hasPassed) process.exitCode = 1
