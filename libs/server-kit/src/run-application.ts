import { ConfigError } from '@session-service/config'
import { collectWhenIdle } from './idle-collection.js'
import { createLogger, type ServiceLogger } from './logging/logger.js'

/** Exit code for an invalid configuration (EX_CONFIG of sysexits). */
export const EXIT_CONFIG = 78
const SIGNAL_NUMBER = { SIGINT: 2, SIGTERM: 15 } as const
type TerminationSignal = keyof typeof SIGNAL_NUMBER

export interface RunningApplication {
  /** Shuts the application down. */
  close(): Promise<void>
  /**
   * For an application with a long shutdown: called with the first and the second signal, which then do not close it.
   * The third signal forces the exit.
   */
  signalled?(): void
  /** Resolves when the application requests its own shutdown; rejects after a fatal error: the exit code is then 1. */
  ended?: Promise<void>
}

export interface RunOptions {
  /** The process name in log lines of the start and the end. */
  name: string
  /** Time limit of `close`, ms; afterwards the process exits with code 1. */
  closeDeadlineMs?: number
}

/**
 * Runs an application as this process. The first SIGTERM or SIGINT closes it gracefully (exit code 0), the second forces
 * the exit; an application may also request its shutdown. The first signal aborts the AbortSignal of `start`, so that
 * waiting for other servers ends too.
 */
export async function runApplication(
  start: (signal: AbortSignal) => Promise<RunningApplication>,
  { name, closeDeadlineMs = 30_000 }: RunOptions,
): Promise<void> {
  // Read before the configuration is validated, so that errors in the configuration have the requested format.
  const format = process.env.SERVICE_LOG_FORMAT === 'pretty' ? 'pretty' : 'json'
  const logger = createLogger({ level: 'info', format, name })
  const signals = new TerminationSignals()
  endOnCrash(logger)

  let application: RunningApplication
  try {
    application = await start(signals.first)
  } catch (error) {
    return process.exit(startFailure(error, signals.first, logger))
  }
  collectWhenIdle()
  const isFailed = await timeToClose(application, signals).then(
    () => false,
    (err: unknown) => {
      logger.fatal({ err }, 'fatal error, exiting')
      return true
    },
  )
  await closeWithin(closeDeadlineMs, application, logger)
  process.exit(isFailed ? 1 : 0)
}

/** Counts termination signals. */
class TerminationSignals {
  readonly #first = new AbortController()
  #count = 0
  /** Called with each of the first `limit` signals; the next one exits immediately. */
  #listener: { onSignal: () => void; limit: number } = { onSignal: () => undefined, limit: 1 }

  constructor() {
    for (const signal of Object.keys(SIGNAL_NUMBER) as TerminationSignal[]) process.on(signal, () => this.#take(signal))
  }

  /** Aborted by the first signal. */
  get first(): AbortSignal {
    return this.#first.signal
  }

  /** Also calls `onSignal` for signals that arrived before. */
  listen(limit: number, onSignal: () => void): void {
    this.#listener = { onSignal, limit }
    for (let call = 0; call < this.#count; call += 1) onSignal()
  }

  #take(signal: TerminationSignal): void {
    this.#count += 1
    if (this.#count > this.#listener.limit) process.exit(128 + SIGNAL_NUMBER[signal])
    this.#first.abort(new Error(`terminated by ${signal}`))
    this.#listener.onSignal()
  }
}

function timeToClose(application: RunningApplication, signals: TerminationSignals): Promise<void> {
  return new Promise((resolve, reject) => {
    void application.ended?.then(resolve, reject)
    if (application.signalled) signals.listen(2, () => application.signalled?.())
    else signals.listen(1, resolve)
  })
}

/** The state after an uncaught error is unknown: the process exits, and its supervisor restarts it. */
function endOnCrash(logger: ServiceLogger): void {
  const crash = (err: unknown) => {
    logger.fatal({ err }, 'uncaught error, exiting')
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}

function startFailure(error: unknown, terminated: AbortSignal, logger: ServiceLogger): number {
  if (terminated.aborted) return 0
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${problem}\n`)
    return EXIT_CONFIG
  }
  logger.fatal({ err: error }, 'start failed')
  return 1
}

async function closeWithin(deadlineMs: number, application: RunningApplication, logger: ServiceLogger): Promise<void> {
  setTimeout(() => {
    logger.error(`shutdown timed out after ${deadlineMs} ms, exiting`)
    process.exit(1)
  }, deadlineMs).unref()
  try {
    await application.close()
  } catch (error) {
    logger.error({ err: error }, 'shutdown failed')
    process.exit(1)
  }
}
