import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism, setPriority } from 'node:os'
import { ServiceError } from '@session-service/contract'
import { hasParentDeathSignal, isErrno, Semaphore, withParentDeathSignal } from '@session-service/server-kit'
import { diskFull } from './disk-full.js'

/** Lower priority than the processes that serve participants. */
const NICENESS = 10
const MAX_OUTPUT_CHARS = 1_048_576
const MAX_ERROR_CHARS = 2_000
/** ffmpeg exits with this code when it is signalled. */
const SIGNALLED_EXIT_CODE = 255

interface ToolOptions {
  signal: AbortSignal
  /** The program is killed after this time, ms. */
  timeoutMs: number
}

/** A program exited with an error code; `message` ends with its last lines. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** Limits the programs that run at the same time, because participants need the processor. */
const runs = new Semaphore(Math.max(1, Math.floor(availableParallelism() / 2)))

/**
 * Runs a program and resolves to its standard output.
 * @throws ToolError when it fails; ServiceError when it is not installed (UNAVAILABLE) or the disk is full (NO_CAPACITY);
 * the signal's reason when that was aborted; another error when it was killed or timed out, which says nothing about its
 * input
 */
export async function runTool(program: string, args: readonly string[], options: ToolOptions): Promise<string> {
  return runs.run(() => {
    options.signal.throwIfAborted()
    return run(program, args, options)
  })
}

function start(program: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = withParentDeathSignal(program, args)
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C in a terminal must reach only the master: it would cut off the file.
    detached: hasParentDeathSignal,
  })
  if (child.pid !== undefined) lowerPriority(child.pid)
  return child
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
  } catch {
    // The program has ended already.
  }
}

function run(program: string, args: readonly string[], { signal, timeoutMs }: ToolOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = start(program, args)
    let output = ''
    let errors = ''
    let isTimedOut = false
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT_CHARS)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-MAX_ERROR_CHARS)
    })
    const kill = (): void => void child.kill('SIGKILL')
    const timer = setTimeout(() => {
      isTimedOut = true
      kill()
    }, timeoutMs)
    signal.addEventListener('abort', kill, { once: true })
    const settle = (outcome: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      outcome()
    }
    child.once('error', (error) => settle(() => reject(isErrno(error, 'ENOENT') ? missing(program) : error)))
    child.once('close', (code, killedBy) =>
      settle(() => {
        if (signal.aborted) reject(signal.reason as Error)
        else if (code === 0) resolve(output)
        else reject(failureOf(program, { code, killedBy, isTimedOut, errors }))
      }),
    )
  })
}

interface Exit {
  code: number | null
  killedBy: NodeJS.Signals | null
  isTimedOut: boolean
  errors: string
}

const missing = (program: string): ServiceError => new ServiceError('UNAVAILABLE', `${program} is not installed`)

function failureOf(program: string, { code, killedBy, isTimedOut, errors }: Exit): Error {
  // setpriv or sh, which start the program, report that it is missing.
  if (code === 127 && /^(setpriv|sh|\/bin\/sh):/.test(errors)) return missing(program)
  if (/no space left on device|disk quota exceeded/i.test(errors)) return diskFull(`${program} could not write`)
  const lastLines = errors.trim().split('\n').slice(-3).join('; ')
  if (isTimedOut) return new Error(`${program} timed out: ${lastLines}`)
  if (killedBy !== null || code === SIGNALLED_EXIT_CODE) return new Error(`${program} was killed: ${lastLines}`)
  return new ToolError(`${program} exited with code ${code}: ${lastLines}`)
}
