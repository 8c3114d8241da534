// npm run check runs all checks; node tools/test/check.mjs lint format runs the named ones.
import { resolve } from 'node:path'
import { checksOf } from './checks.mjs'
import { runNode } from './run-node.mjs'
import { suiteLine } from './results.mjs'

const ROOT = resolve(import.meta.dirname, '../..')

/** Runs the checks one after the other and shows each result; resolves to a suite with one test for each check. */
export async function runChecks(names, show) {
  const suites = []
  for (const { name, args } of checksOf(ROOT).filter((check) => names.length === 0 || names.includes(check.name))) {
    const { code, output, ms } = await runNode(args, { cwd: ROOT })
    const passed = code === 0
    const suite = {
      suite: `check ${name}`,
      passed: passed ? 1 : 0,
      failed: passed ? 0 : 1,
      ms,
      output: passed ? '' : output,
    }
    suites.push(suite)
    show(suite)
  }
  return suites
}

async function main(names) {
  const known = checksOf(ROOT).map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    console.error(`unknown check ${unknown.join(', ')}: one of ${known.join(', ')}`)
    return 2
  }
  const suites = await runChecks(names, (suite) => {
    if (suite.output) console.log(suite.output.trimEnd())
    console.log(suiteLine(suite))
  })
  return suites.some(({ failed }) => failed > 0) ? 1 : 0
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
