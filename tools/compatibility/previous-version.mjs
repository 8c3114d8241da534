// Builds another version of this repository beside this one.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compilerArgs } from '../bootstrap/compiler.mjs'

const ROOT = join(import.meta.dirname, '../..')
const SCOPE = '@session-service'

const run = (cwd, command, ...args) => execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

export const commitOf = (ref) => git('rev-parse', '--verify', `${ref}^{commit}`)

/** The folder of the built version. A folder that a former run has built completely is used again. `tsc`: another compiler. */
export function buildVersion(ref, parent, tsc) {
  const commit = commitOf(ref)
  const folder = join(parent, commit.slice(0, 12))
  const done = join(folder, '.built')
  if (existsSync(done)) return folder
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: ROOT, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  installPackages(folder)
  run(folder, process.execPath, ...(tsc ? [tsc, '-b'] : compilerArgs(ROOT)))
  run(folder, process.execPath, 'tools/build-bundles.mjs', 'client', 'master', 'media-node')
  writeFileSync(done, commit)
  return folder
}

/** Both versions mostly have the same packages: then those of this one are linked, except for the workspace's own. */
function installPackages(folder) {
  const lockOf = (root) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  // Its own bootstrap also installs by lockfiles that "npm ci" refuses.
  if (lockOf(folder) !== lockOf(ROOT))
    return run(folder, process.execPath, 'tools/bootstrap/run.mjs', 'check', '--print-env')
  const from = join(ROOT, 'node_modules')
  const to = join(folder, 'node_modules')
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    if (name === SCOPE) cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
    else if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
  }
}
