import { ConfigError } from '@session-service/config'
import { createLogger, type ServiceLogger } from './logging/logger.js'

/** The exit code for a configuration that cannot be used (EX_CONFIG of sysexits). */
const EXIT_CONFIG = 78
const SIGNAL_NUMBER = { SIGINT: 2, SIGTERM: 15 } as const
type EndSignal = keyof typeof SIGNAL_NUMBER

export interface RunningApplication {
  /** Ends what it began. */
  close(): Promise<void>
  /**
   * For an application that takes its time to end: told of the first and the second signal, which then do not close it
   * themselves; the third forces.
   */
  signalled?(): void
  /** Resolves when the application wants to be closed by itself; rejects when it cannot go on: then the exit code is 1. */
  ended?: Promise<void>
}

export interface RunOptions {
  /** Shown in lines that are written before there is a logger. */
  name: string
  /** How long `close` may take, ms; then the process ends all the same, with code 1. */
  closeDeadlineMs?: number
}

/**
 * Starts the application and ends the process with it: the first SIGTERM or SIGINT closes in order (exit 0), the
 * second forces; an application may say itself when to close. The abort signal that `start` gets fires with the first
 * one, so that waiting for others ends too.
 */
export async function runApplication(
  start: (signal: AbortSignal) => Promise<RunningApplication>,
  { name, closeDeadlineMs = 30_000 }: RunOptions,
): Promise<void> {
  // The only property read here: whoever wants text wants it from the first line on, whatever is wrong with the rest.
  const format = process.env.SERVICE_LOG_FORMAT === 'pretty' ? 'pretty' : 'json'
  const logger = createLogger({ level: 'info', format, name })
  const signals = new EndSignals()
  endOnCrash(logger)

  let application: RunningApplication
  try {
    application = await start(signals.first)
  } catch (error) {
    return process.exit(startFailure(error, signals.first, logger))
  }
  const isFailed = await timeToClose(application, signals).then(
    () => false,
    (err: unknown) => {
      logger.fatal({ err }, 'cannot go on, ending')
      return true
    },
  )
  await closeWithin(closeDeadlineMs, application, logger)
  process.exit(isFailed ? 1 : 0)
}

/** Counts the signals that ask for the end. */
class EndSignals {
  readonly #first = new AbortController()
  #count = 0
  /** Called with each of so many signals; the next one ends the process as it is. */
  #listener: { hear: () => void; patience: number } = { hear: () => undefined, patience: 1 }

  constructor() {
    for (const signal of Object.keys(SIGNAL_NUMBER) as EndSignal[]) process.on(signal, () => this.#take(signal))
  }

  /** Fires with the first one. */
  get first(): AbortSignal {
    return this.#first.signal
  }

  /** Also tells of those that came before. */
  listen(patience: number, hear: () => void): void {
    this.#listener = { hear, patience }
    for (let told = 0; told < this.#count; told += 1) hear()
  }

  #take(signal: EndSignal): void {
    this.#count += 1
    if (this.#count > this.#listener.patience) process.exit(128 + SIGNAL_NUMBER[signal])
    this.#first.abort(new Error(`ended by ${signal}`))
    this.#listener.hear()
  }
}

function timeToClose(application: RunningApplication, signals: EndSignals): Promise<void> {
  return new Promise((resolve, reject) => {
    void application.ended?.then(resolve, reject)
    if (application.signalled) signals.listen(2, () => application.signalled?.())
    else signals.listen(1, resolve)
  })
}

/** A state nobody foresaw is not worth going on from: whoever supervises the process starts a clean one. */
function endOnCrash(logger: ServiceLogger): void {
  const crash = (err: unknown) => {
    logger.fatal({ err }, 'unexpected error, ending')
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}

function startFailure(error: unknown, ending: AbortSignal, logger: ServiceLogger): number {
  if (ending.aborted) return 0
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${problem}\n`)
    return EXIT_CONFIG
  }
  logger.fatal({ err: error }, 'could not start')
  return 1
}

async function closeWithin(deadlineMs: number, application: RunningApplication, logger: ServiceLogger): Promise<void> {
  setTimeout(() => {
    logger.error(`not closed within ${deadlineMs} ms, ending all the same`)
    process.exit(1)
  }, deadlineMs).unref()
  try {
    await application.close()
  } catch (error) {
    logger.error({ err: error }, 'closing failed')
    process.exit(1)
  }
}
