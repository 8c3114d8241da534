import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism, setPriority } from 'node:os'
import { ServiceError } from '@session-service/contract'
import { hasParentDeathSignal, isErrno, withParentDeathSignal } from '@session-service/server-kit'

/** Participants go first. */
const NICENESS = 10
const KEPT_OF_OUTPUT = 1_048_576
const KEPT_OF_ERRORS = 2_000
/** Of ffmpeg, which takes a signal for a wish. */
const ENDED_BY_SIGNAL = 255

export interface ToolOptions {
  signal: AbortSignal
  /** Killed after so long, ms. */
  deadlineMs: number
}

/** A program ran to its end and said no; `message` ends with its last words. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure'
}

/** How many run at the same time; the rest waits in order. */
class Turns {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(places: number) {
    this.free = places
  }

  async take(): Promise<void> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
  }

  releaseToken(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.free++
  }
}

const turns = new Turns(Math.max(1, Math.floor(availableParallelism() / 2)))

/**
 * Runs a program to its end and resolves to what it wrote to its standard output.
 * @throws ToolFailure when it fails; ServiceError when it is not there (UNAVAILABLE) or the disk is full (NO_CAPACITY);
 * the signal's reason when that was aborted; another error when it was killed or took too long, which says nothing of
 * what it was given
 */
export async function runTool(program: string, args: readonly string[], options: ToolOptions): Promise<string> {
  await turns.take()
  try {
    options.signal.throwIfAborted()
    return await run(program, args, options)
  } finally {
    turns.releaseToken()
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = withParentDeathSignal(program, args)
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C in a terminal is for us: it would end a file in the midst of it.
    detached: hasParentDeathSignal,
  })
  if (child.pid !== undefined) lowerPriority(child.pid)
  return child
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
  } catch {
    // It has ended already.
  }
}

function run(program: string, args: readonly string[], { signal, deadlineMs }: ToolOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = start(program, args)
    let output = ''
    let errors = ''
    let isLate = false
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_OF_OUTPUT)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-KEPT_OF_ERRORS)
    })
    const kill = (): void => void child.kill('SIGKILL')
    const deadline = setTimeout(() => {
      isLate = true
      kill()
    }, deadlineMs)
    signal.addEventListener('abort', kill, { once: true })
    const settle = (act: () => void): void => {
      clearTimeout(deadline)
      signal.removeEventListener('abort', kill)
      act()
    }
    child.once('error', (error) => settle(() => reject(isErrno(error, 'ENOENT') ? missing(program) : error)))
    child.once('close', (code, killedBy) =>
      settle(() => {
        if (signal.aborted) reject(signal.reason as Error)
        else if (code === 0) resolve(output)
        else reject(failureOf(program, { code, killedBy, isLate, errors }))
      }),
    )
  })
}

interface Ending {
  code: number | null
  killedBy: NodeJS.Signals | null
  isLate: boolean
  errors: string
}

const missing = (program: string): ServiceError => new ServiceError('UNAVAILABLE', `${program} is not installed`)

function failureOf(program: string, { code, killedBy, isLate, errors }: Ending): Error {
  // Said by what binds it to us, in its place.
  if (code === 127 && /^(setpriv|sh|\/bin\/sh):/.test(errors)) return missing(program)
  if (/no space left on device|disk quota exceeded/i.test(errors)) {
    return new ServiceError('NO_CAPACITY', `not enough disk for recordings: ${program} could not write`)
  }
  const lastWords = errors.trim().split('\n').slice(-3).join('; ')
  if (isLate) return new Error(`${program} took too long: ${lastWords}`)
  if (killedBy !== null || code === ENDED_BY_SIGNAL) return new Error(`${program} was ended: ${lastWords}`)
  return new ToolFailure(`${program} ended with code ${code}: ${lastWords}`)
}
