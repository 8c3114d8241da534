import { spawn } from 'node:child_process'
import { accessSync, constants, createWriteStream, mkdirSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { Interrupted } from './stop.mjs'

const SYSTEM_DIRS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
const KEEP_OUTPUT = 200_000

export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Absolute path of a program, looked for in PATH and then where Debian puts servers (a user's PATH lacks sbin). */
export function which(name, env = process.env) {
  const dirs = [...(env.PATH ?? '').split(delimiter), ...SYSTEM_DIRS].filter((dir) => dir.startsWith('/'))
  return dirs.map((dir) => join(dir, name)).find(isExecutable)
}

/** Settings that npm hands to its scripts describe the npm that runs now, not the one that we are about to run. */
export function withoutNpm(env) {
  const foreign =
    /^npm_(?:package_|lifecycle_|execpath$|node_execpath$|command$|config_(?:nodedir|prefix|local_prefix|global_prefix|globalconfig|user_agent|npm_version|node_gyp|noproxy|allow_scripts|engine_strict|save_exact|audit|fund)$)/i
  return Object.fromEntries(
    Object.entries(env).filter(([key]) => !foreign.test(key) && key !== 'INIT_CWD' && key !== 'NODE'),
  )
}

/** What every npm of ours is told: no scripts, no talk, and a network that is not there is known in seconds. */
export const NPM_OPTIONS = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/**
 * Runs a program to its end, fed with `input`, its output kept (the last 200 kB) and appended to `log`.
 * It gets a process group of its own, so that an interruption can end all that it started;
 * `gentle` programs (a package manager in the middle of its work) are waited for instead.
 * Resolves to `{ code, output }`, code 127 when there is no such program; throws Interrupted.
 */
export async function run(
  command,
  args,
  { cwd, env = process.env, input, log, onLine, timeoutMs, signal, gentle = false } = {},
) {
  if (signal?.aborted) throw new Interrupted()
  const file = log ? openLog(log, `$ ${[command, ...args].join(' ')}\n`) : undefined
  const stdin = input === undefined ? 'ignore' : 'pipe'
  const child = spawn(command, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'], detached: true })
  // A program that ends without reading says why in its output.
  child.stdin?.on('error', () => {}).end(input)
  const end = () => killGroup(child.pid)
  if (!gentle) signal?.addEventListener('abort', end, { once: true })
  const timer = timeoutMs ? setTimeout(end, timeoutMs) : undefined
  const result = await collect(child, file, onLine)
  clearTimeout(timer)
  signal?.removeEventListener('abort', end)
  if (file) await new Promise((resolve) => file.end(resolve))
  if (signal?.aborted) throw new Interrupted()
  return result
}

function openLog(log, first) {
  mkdirSync(dirname(log), { recursive: true })
  const file = createWriteStream(log, { flags: 'a' })
  // A full disk shows in the program's own failure; the log must not end the bootstrap.
  file.on('error', () => {})
  file.write(first)
  return file
}

function killGroup(pid) {
  if (!pid) return
  try {
    process.kill(-pid, 'SIGTERM')
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error
  }
}

function collect(child, file, onLine) {
  let output = ''
  let rest = ''
  const take = (chunk) => {
    const text = String(chunk)
    file?.write(chunk)
    output = (output + text).slice(-KEEP_OUTPUT)
    if (!onLine) return
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const each of lines) onLine(each)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, output: error.message }))
    child.once('close', (code, signal) => resolve({ code: code ?? 128, signal, output }))
  })
}
