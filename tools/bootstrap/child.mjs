import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { which } from './exec.mjs'

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
/** Under npm one Ctrl-C arrives twice, from the terminal and from npm, faster than a person can press it twice. */
export const SAME_PRESS_MS = 250
const PARENT_CHECK_MS = 300

/** Calls `act(signal)` once for each signal that was meant, though it may come in several ways at once. */
export function oncePerPress(act, now = () => performance.now()) {
  const last = new Map()
  return (signal) => {
    const at = now()
    const before = last.get(signal) ?? -Infinity
    last.set(signal, at)
    if (at - before > SAME_PRESS_MS) act(signal)
  }
}

/** Becomes the program in its last arguments, unless its parent (the first one) died before PDEATHSIG was set. */
const IF_PARENT_LIVES = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'

/** The exit status a shell would report. */
export const exitStatus = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0)

/**
 * Runs `node script args` with the stdio of this process and resolves to its exit status.
 *
 * The script has its own session, so that Ctrl-C of a terminal reaches it once and through this process only, and
 * does not reach the servers it started, which it ends in its own order. It receives SIGTERM when this process dies.
 */
export function runScript({ node, script, args, env, cwd, onSignal }) {
  const setpriv = process.platform === 'linux' ? which('setpriv') : undefined
  const words = [node, script, ...args]
  const shell = ['/bin/sh', '-c', IF_PARENT_LIVES, 'sh', String(process.pid)]
  const [command, ...rest] = setpriv ? [setpriv, '--pdeathsig', 'TERM', ...shell, ...words] : words
  const child = spawn(command, rest, { stdio: 'inherit', env, cwd, detached: true })
  onSignal((signal) => child.kill(signal))
  const resized = () => child.kill('SIGWINCH')
  process.on('SIGWINCH', resized)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      process.off('SIGWINCH', resized)
      resolve(exitStatus(code, signal))
    })
  })
}

/**
 * Receives all signals: `handle` is their current handler, `last` the latest signal.
 * Under npm the end of npm counts as SIGTERM: on SIGTERM npm ends only the shell between npm and this process, and a
 * killed npm sends nothing.
 */
export function listenForSignals({ underNpm = process.env.npm_lifecycle_event !== undefined } = {}) {
  const state = { last: undefined, handle: () => {} }
  const take = oncePerPress((signal) => {
    state.last = signal
    state.handle(signal)
  })
  for (const signal of PASSED_ON) process.on(signal, take)
  if (underNpm) watchParent(() => take('SIGTERM'))
  return state
}

function watchParent(gone) {
  const before = elders()
  const timer = setInterval(() => {
    if (elders() === before) return
    clearInterval(timer)
    gone()
  }, PARENT_CHECK_MS)
  timer.unref()
}

/** Our parent, and where that is the shell which npm puts between, npm itself too. */
function elders() {
  const parent = process.ppid
  try {
    const [, name, grandparent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${parent}/stat`, 'utf8'))
    return ['sh', 'dash', 'bash'].includes(name) ? `${parent} ${grandparent}` : `${parent}`
  } catch {
    // No /proc here.
    return `${parent}`
  }
}
