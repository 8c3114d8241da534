import { spawn } from 'node:child_process'
import { accessSync, constants, createWriteStream, mkdirSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { heldLocks } from './lock.mjs'
import { Interrupted } from './stop.mjs'

const SYSTEM_DIRS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
const KEEP_OUTPUT = 200_000

/** True for a program that can run. A full disk leaves empty ones, which the shell runs as scripts that succeed. */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    const status = statSync(file)
    return status.isFile() && status.size > 0
  } catch {
    return false
  }
}

/** Absolute path of a program in PATH, then in the folders of servers (the PATH of a user lacks sbin). */
export function which(name, env = process.env) {
  const dirs = [...(env.PATH ?? '').split(delimiter), ...SYSTEM_DIRS].filter((dir) => dir.startsWith('/'))
  return dirs.map((dir) => join(dir, name)).find(isExecutable)
}

/** The environment without the settings that npm passes to its scripts: they describe that npm, not the one started next. */
export function withoutNpm(env) {
  const foreign =
    /^npm_(?:package_|lifecycle_|execpath$|node_execpath$|command$|config_(?:nodedir|prefix|local_prefix|global_prefix|globalconfig|user_agent|npm_version|node_gyp|noproxy|allow_scripts|engine_strict|save_exact|audit|fund)$)/i
  return Object.fromEntries(
    Object.entries(env).filter(([key]) => !foreign.test(key) && key !== 'INIT_CWD' && key !== 'NODE'),
  )
}

/** Options of every npm run: no install scripts, warnings for `lostFiles`, and a missing network is reported within seconds. */
export const NPM_OPTIONS = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--loglevel=warn',
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/**
 * Becomes the program in its arguments and leaves a watcher in its process group, which kills the group when fd 3
 * closes: when this process dies (even by SIGKILL), and when the program has exited.
 */
const WATCHED = '(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 & exec "$@" 3<&-'

/**
 * Runs a program until it exits, with `input` on its stdin. Keeps the last 200 kB of its output and appends all of it
 * to `log`. The program has its own process group, so an interruption or the death of this process ends everything it
 * started; it inherits the locks that are held, so the next holder starts after its end.
 * A `gentle` program (a package manager, which must not be killed half-way) is waited for instead.
 * Resolves to `{ code, output }`, with code 127 when the program does not exist; throws Interrupted.
 */
export async function run(
  command,
  args,
  { cwd, env = process.env, input, log, onLine, timeoutMs, signal, gentle = false } = {},
) {
  if (signal?.aborted) throw new Interrupted()
  const file = log ? openLog(log, `$ ${[command, ...args].join(' ')}\n`) : undefined
  const child = start(command, args, { cwd, env, input, gentle })
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

function start(command, args, { cwd, env, input, gentle }) {
  const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']
  const child = gentle
    ? spawn(command, args, { cwd, env, stdio, detached: true })
    : spawn('/bin/sh', ['-c', WATCHED, 'sh', command, ...args], {
        cwd,
        env,
        stdio: [...stdio, 'pipe', ...heldLocks()],
        detached: true,
      })
  // A program that exits without reading its input reports why in its output.
  child.stdin?.on('error', () => {}).end(input)
  child.stdio[3]?.on('error', () => {})
  child.once('exit', () => child.stdio[3]?.destroy())
  return child
}

function openLog(log, first) {
  mkdirSync(dirname(log), { recursive: true })
  const file = createWriteStream(log, { flags: 'a' })
  // A full disk fails the program itself; a failing log must not end the bootstrap.
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
