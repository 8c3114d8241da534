import { AsyncLocalStorage } from 'node:async_hooks'
import { formatTraceparent, type TracePosition } from './traceparent.js'

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>
type SpanKind = 'internal' | 'server' | 'client'

/** Ids are allowed as attributes; tokens, secrets, credentials and data of clients are not. */
export interface SpanOptions {
  kind?: SpanKind
  attributes?: SpanAttributes
  /** The `traceparent` of the span that caused this one; the current span by default. */
  parent?: string | undefined
  /** The `traceparent` of a span in another trace. */
  link?: string | undefined
  /** When it started, if that was earlier, by `performance.now()`. */
  startedAt?: number
}

/** A span that has begun. */
export interface ActiveSpan {
  readonly position: TracePosition
  /** False for a span that is not sampled, and after its end. */
  readonly isRecording: boolean
  set(attributes: SpanAttributes): void
  /** Records the code of an error; messages are left out, because they may quote data of clients. */
  fail(code: string): void
  end(): void
}

/** The recorder of spans; loaded only when tracing is on. */
export interface TraceBackend {
  start(name: string, options: SpanOptions, current: ActiveSpan | undefined): ActiveSpan
}

let backend: TraceBackend | undefined
const active = new AsyncLocalStorage<ActiveSpan | undefined>()

/** Undefined switches tracing off. */
export const useTraceBackend = (next: TraceBackend | undefined): void => {
  backend = next
}

/** For callers that would prepare the options of a span in vain. */
export const isTracing = (): boolean => backend !== undefined

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'INTERNAL'

const current = (): ActiveSpan | undefined => (backend ? active.getStore() : undefined)

/** Starts a span that does not become the current one; undefined while tracing is off. The caller ends it. */
export const startSpan = (name: string, options: SpanOptions = {}): ActiveSpan | undefined =>
  backend?.start(name, options, current())

/** Starts a span within a trace that is recorded; undefined outside of one. The caller ends it. */
export const startChildSpan = (name: string, options: SpanOptions = {}): ActiveSpan | undefined =>
  current()?.isRecording ? startSpan(name, options) : undefined

/** Runs work with this span as the current one. */
export const withSpan = <T>(span: ActiveSpan | undefined, work: () => T): T => (span ? active.run(span, work) : work())

/** Runs work outside of any trace: for work of several requests together. */
export const withoutSpan = <T>(work: () => T): T => (current() ? active.run(undefined, work) : work())

async function finished<T>(span: ActiveSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await active.run(span, work)
  } catch (error) {
    span.fail(codeOf(error))
    throw error
  } finally {
    span.end()
  }
}

/** Runs work in a new span: a child of `parent` or the current span, else the first of a new trace. */
export function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  const span = startSpan(name, options)
  return span ? finished(span, work) : work()
}

/** Runs work in a new span within a trace that is recorded, and without one elsewhere. */
export function inChildSpan<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> {
  const span = startChildSpan(name, { attributes })
  return span ? finished(span, work) : work()
}

/** Adds attributes to the current span. */
export const describeSpan = (attributes: SpanAttributes): void => current()?.set(attributes)

/** Records an error that the current span handles itself. */
export const failSpan = (code: string): void => current()?.fail(code)

/** The id of the current trace, for logs. */
export const currentTraceId = (): string | undefined => current()?.position.traceId

/** The `traceparent` of the current span; undefined outside of a trace that is recorded. */
export function currentTraceparent(): string | undefined {
  const span = current()
  return span?.isRecording ? formatTraceparent(span.position) : undefined
}
