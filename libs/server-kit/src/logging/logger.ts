import type { LoggerService } from '@nestjs/common'
import { destination, pino, stdTimeFunctions, type DestinationStream, type Logger as Pino } from 'pino'
import { prettyLine } from './pretty.js'
import { currentTraceId } from '../tracing/trace.js'
import { redact, redactText } from './redact.js'

/** The most important first. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const rank = (level: LogLevel): number => LOG_LEVELS.indexOf(level)

export interface LoggerOptions {
  level: LogLevel
  format: 'json' | 'pretty'
  /** The process: `master`, `media-node`, … */
  name: string
  /** Receives each line with its line break; standard output by default. */
  write?: (line: string) => void
}

type Fields = Record<string, unknown>
interface Entry {
  fields: Fields
  text: string | undefined
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Error)
const looksLikeStack = (text: string): boolean => /\n\s+at /.test(text)

/**
 * Parses the arguments of a Nest logger: `(text, context)`, `(text, stack, context)`, `(error, …)`, and of ours:
 * `(fields, text)`, to which the `Logger` of a class adds its context.
 */
function toEntry(message: unknown, rest: readonly unknown[]): Entry {
  const fields: Fields = {}
  const texts: string[] = []
  for (const part of [message, ...rest]) {
    if (part instanceof Error) fields.err = part
    else if (isFields(part)) Object.assign(fields, part)
    else if (typeof part === 'string' && looksLikeStack(part)) fields.err ??= { stack: part }
    else if (part !== undefined) texts.push(typeof part === 'string' ? part : (JSON.stringify(part) ?? typeof part))
  }
  const text = message instanceof Error ? message.message : texts.shift()
  const context = texts.pop()
  if (context !== undefined) fields.context = context
  return { fields, text: texts.length > 0 ? [text, ...texts].join(' ') : text }
}

/** Contexts of Nest's own start, a line per module and route: logged at debug, because operators do not need them. */
const NEST_CONTEXTS: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestFactory',
  'NestApplication',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
])

/** Writes structured log lines with pino; usable as Nest's logger: `logger.log({ sessionId }, 'session closed')`. */
export class ServiceLogger implements LoggerService {
  readonly #pino: Pino
  /** Shared with all children. */
  readonly #threshold: { level: LogLevel }

  constructor(target: Pino, threshold: { level: LogLevel }) {
    this.#pino = target
    this.#threshold = threshold
  }

  /** The lowest level that is logged. A change takes effect at once, also for children. */
  get level(): LogLevel {
    return this.#threshold.level
  }

  set level(level: LogLevel) {
    this.#threshold.level = level
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#write(NEST_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest)
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.#write('error', message, rest)
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.#write('warn', message, rest)
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.#write('debug', message, rest)
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.#write('trace', message, rest)
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.#write('fatal', message, rest)
  }

  /** A logger that adds `fields` to each line. */
  child(fields: Fields): ServiceLogger {
    return new ServiceLogger(this.#pino.child(redact(fields) as Fields), this.#threshold)
  }

  #write(level: LogLevel, message: unknown, rest: readonly unknown[]): void {
    if (rank(level) > rank(this.#threshold.level)) return
    const { fields, text } = toEntry(message, rest)
    const traceId = currentTraceId()
    if (traceId !== undefined) fields.traceId ??= traceId
    this.#pino[level](redact(fields), text === undefined ? undefined : redactText(text))
  }
}

function streamOf({ format, write }: LoggerOptions): DestinationStream {
  // Synchronous, so that the last lines before an exit are not lost.
  const output = write ? { write } : destination({ dest: 1, sync: true })
  return format === 'json' ? output : { write: (line) => output.write(prettyLine(line)) }
}

export const createLogger = (options: LoggerOptions): ServiceLogger =>
  new ServiceLogger(
    pino(
      {
        name: options.name,
        // `ServiceLogger` decides, because the level of a child of pino does not follow that of its parent.
        level: 'trace',
        base: { pid: process.pid },
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        // `redact` serialises errors.
        serializers: { err: (value: unknown) => value },
      },
      streamOf(options),
    ),
    { level: options.level },
  )
