// npm run test:kubernetes [-- <parts of paths> [jest options]]: finds or builds the programs of a control plane, then runs
// the tests of the kind "kubernetes". With --install it only prepares.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { relative, resolve } from 'node:path'
import { cacheRoot, openCache } from '../bootstrap/cache.mjs'
import { Report } from '../bootstrap/report.mjs'
import { Stop } from '../bootstrap/stop.mjs'
import { matches, packagesOf, splitWords, testFiles } from '../test/files.mjs'
import { buildPrograms } from './build.mjs'
import { findPrograms, testEnvironment } from './programs.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const abort = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => abort.abort())

async function main(words) {
  const report = new Report()
  const env = process.env
  const context = {
    env,
    cache: openCache(cacheRoot(env, homedir())),
    report,
    signal: abort.signal,
    uid: process.getuid?.(),
  }
  try {
    const { missing } = findPrograms(env)
    if (missing.length > 0) await buildPrograms(context, missing)
  } catch (error) {
    report.fail(error)
    if (!(error instanceof Stop)) console.error(error.stack)
    return 1
  }
  const programs = findPrograms(env)
  for (const [name, path] of Object.entries(programs.found)) report.note(`${name}: ${path}`)
  if (words.includes('--install')) return 0
  const { parts, options } = splitWords(words)
  const files = packagesOf(ROOT).flatMap(({ folder }) => testFiles(ROOT, folder, 'kubernetes'))
  const chosen = files.map(({ source }) => relative(ROOT, source)).filter((source) => matches(source, parts))
  if (chosen.length > 0) return runTests([...chosen, ...options], testEnvironment(env, programs))
  console.error(`no test of the kind kubernetes matches ${parts.join(' ')}`)
  return 2
}

/** A signal reaches the tests by the process group of the terminal, or from here. */
async function runTests(words, env) {
  const child = spawn(process.execPath, ['tools/test/run.mjs', ...words], { cwd: ROOT, env, stdio: 'inherit' })
  abort.signal.addEventListener('abort', () => child.kill(), { once: true })
  const [code] = await once(child, 'exit')
  return code ?? 1
}

process.exitCode = await main(process.argv.slice(2))
